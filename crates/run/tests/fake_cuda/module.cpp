// Modules and functions: shared objects made by the stand-in NVRTC.
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "driver.h"
#include "image.h"

namespace {

std::map<CUmodule, std::unique_ptr<Module>> modules;
std::map<std::pair<CUmodule, std::string>, std::unique_ptr<Function>> functions;

// Whether machine code for `arch` runs on the device: of the same major version and no newer; with `a`, of exactly it. PTX is
// compiled for the device, unless it is for a newer one.
bool runs(const std::string& arch, bool ptx) {
    int made_for = std::atoi(arch.c_str()), device = std::atoi(device_arch().c_str());
    if (arch.back() == 'a') return made_for == device;
    return ptx ? made_for <= device : made_for / 10 == device / 10 && made_for <= device;
}

// Shared memory of the module: its thread-local segment.
void read_shared(const std::string& object, Module& m) {
    auto at = [&](size_t offset) { return object.data() + offset; };
    Elf64_Ehdr head;
    std::memcpy(&head, at(0), sizeof head);
    for (unsigned i = 0; i < head.e_phnum; ++i) {
        Elf64_Phdr part;
        std::memcpy(&part, at(head.e_phoff + i * sizeof part), sizeof part);
        if (part.p_type != PT_TLS) continue;
        m.static_shared = part.p_memsz;
    }
}

// The loader knows libraries by their path, so every module gets a file of its own, gone as soon as it is loaded.
void* load(const std::string& object) {
    const char* folder = std::getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/tmp") + "/warpsight-module-XXXXXX";
    int file = mkstemp(path.data());
    if (file < 0) return nullptr;
    bool whole = write(file, object.data(), object.size()) == ssize_t(object.size());
    close(file);
    void* handle = whole ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!handle && whole) std::fprintf(stderr, "stand-in driver: %s\n", dlerror());
    unlink(path.c_str());
    return handle;
}

}  // namespace

unsigned Function::most_threads() const {
    unsigned most = unsigned(attribute(1));
    return kernel->max_threads ? std::min(kernel->max_threads, most) : most;
}

API CUresult cuModuleLoadData(CUmodule* out, const void* data) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    std::string arch, object;
    bool ptx = false;
    if (!out || !data) return CUDA_ERROR_INVALID_VALUE;
    if (!image::open(data, &arch, &object, &ptx) || object.size() < sizeof(Elf64_Ehdr)) return CUDA_ERROR_INVALID_IMAGE;
    if (!runs(arch, ptx)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    auto module = std::make_unique<Module>();
    module->handle = load(object);
    if (!module->handle) return CUDA_ERROR_INVALID_IMAGE;
    auto bind = reinterpret_cast<WsThread** (*)(const WsHost*)>(dlsym(module->handle, "ws_host_bind"));
    if (!bind) return CUDA_ERROR_INVALID_IMAGE;
    module->now = bind(scheduler::host());
    read_shared(object, *module);
    *out = module.get();
    modules[*out] = std::move(module);
    return CUDA_SUCCESS;
}

API CUresult cuModuleUnload(CUmodule module) {
    auto lock = locked();
    auto found = modules.find(module);
    if (found == modules.end()) return CUDA_ERROR_INVALID_HANDLE;
    wait_for_device();
    dlclose(found->second->handle);
    for (auto f = functions.begin(); f != functions.end();) f = f->first.first == module ? functions.erase(f) : std::next(f);
    modules.erase(found);
    return CUDA_SUCCESS;
}

API CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!modules.count(module)) return CUDA_ERROR_INVALID_HANDLE;
    if (!out || !name || !*name) return CUDA_ERROR_INVALID_VALUE;
    // A kernel without `extern "C"` is found under its mangled name only, as with the real compiler.
    void* table = dlsym(module->handle, (std::string("ws_kernel_") + name).c_str());
    if (!table || !dlsym(module->handle, name)) return CUDA_ERROR_NOT_FOUND;
    auto& function = functions[{module, name}];
    if (!function) {
        function = std::make_unique<Function>();
        function->module = module;
        function->kernel = static_cast<const WsKernel*>(table);
        size_t room = size_t(attribute(8));
        function->most_dynamic = unsigned(room > module->static_shared ? room - module->static_shared : 0);
    }
    *out = function.get();
    return CUDA_SUCCESS;
}

API CUresult cuFuncGetAttribute(int* value, int what, CUfunction f) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    switch (what) {
        case 0: *value = int(f->most_threads()); break;        // MAX_THREADS_PER_BLOCK
        case 1: *value = int(f->module->static_shared); break;  // SHARED_SIZE_BYTES
        case 2: *value = 0; break;                              // CONST_SIZE_BYTES
        case 3: *value = 0; break;                              // LOCAL_SIZE_BYTES
        case 4: *value = 32; break;                             // NUM_REGS
        case 5:                                                 // PTX_VERSION
        case 6: *value = std::atoi(device_arch().c_str()); break;  // BINARY_VERSION
        case 8: *value = int(f->most_dynamic); break;           // MAX_DYNAMIC_SHARED_SIZE_BYTES
        case 9: *value = -1; break;                             // PREFERRED_SHARED_MEMORY_CARVEOUT
        case 14: *value = f->large_clusters; break;             // NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

API CUresult cuFuncSetAttribute(CUfunction f, int what, int value) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (what == 8) {
        if (value < 0 || size_t(value) + f->module->static_shared > size_t(attribute(97))) return CUDA_ERROR_INVALID_VALUE;
        f->most_dynamic = unsigned(value);
        return CUDA_SUCCESS;
    }
    if (what == 9) return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (what == 14) {
        f->large_clusters = value != 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}
