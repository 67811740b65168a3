// Device memory: the host's, with the bounds of every allocation known to the calls of the driver (kernels get raw pointers).
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "driver.h"

namespace {

std::map<CUdeviceptr, size_t> allocations;
size_t used = 0;

size_t limit() {
    size_t total = size_t(setting("WS_FAKE_MEMORY_BYTES", 1 << 30));
    return size_t(setting("WS_FAKE_OOM_BYTES", (long long)total));
}

// Pages are the allocator's unit, so that a large buffer nobody touches costs nothing.
size_t pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// Simulated time of a copy: a gigabyte takes a second.
void charge(size_t bytes) { scheduler::advance(1000 + bytes); }

// The file that WS_FAKE_SENT names gets a line for each copy into the device: its bytes.
void sent(size_t bytes) {
    const char* path = std::getenv("WS_FAKE_SENT");
    FILE* file = path ? std::fopen(path, "a") : nullptr;
    if (!file) return;
    std::fprintf(file, "%zu\n", bytes);
    std::fclose(file);
}

}  // namespace

bool in_device_memory(CUdeviceptr at, size_t bytes) {
    auto after = allocations.upper_bound(at);
    if (after == allocations.begin()) return false;
    --after;
    return at + bytes <= after->first + after->second;
}

void release_memory() {
    for (auto& [at, bytes] : allocations) munmap(reinterpret_cast<void*>(at), pages(bytes));
    allocations.clear();
    used = 0;
}

API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    *total = size_t(setting("WS_FAKE_MEMORY_BYTES", 1 << 30));
    *free = limit() > used ? limit() - used : 0;
    return CUDA_SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!out || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > limit() || used + bytes > limit()) return CUDA_ERROR_OUT_OF_MEMORY;
    void* at = mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    // Nothing may count on zeros.
    if (bytes <= (8 << 20)) std::memset(at, 0xcd, bytes);
    *out = reinterpret_cast<CUdeviceptr>(at);
    allocations[*out] = bytes;
    used += bytes;
    return CUDA_SUCCESS;
}

API CUresult cuMemFree_v2(CUdeviceptr at) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    auto found = allocations.find(at);
    if (found == allocations.end()) return CUDA_ERROR_INVALID_VALUE;
    wait_for_device();
    munmap(reinterpret_cast<void*>(at), pages(found->second));
    used -= found->second;
    allocations.erase(found);
    return CUDA_SUCCESS;
}

namespace {

CUresult copy(void* to, const void* from, size_t bytes) {
    if (CUresult r = usable()) return r;
    charge(bytes);
    std::memmove(to, from, bytes);
    return CUDA_SUCCESS;
}

void* pointer(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

}  // namespace

// The host's memory may change as soon as the call has returned; the device's has not done so by then.
API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!in_device_memory(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    sent(bytes);
    auto staged = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    return put_off([=] { return copy(pointer(to), staged->data(), bytes); });
}

API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    auto lock = locked();
    wait_for_device();
    if (CUresult r = usable()) return r;
    return in_device_memory(from, bytes) ? copy(to, pointer(from), bytes) : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!in_device_memory(to, bytes) || !in_device_memory(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy(pointer(to), pointer(from), bytes);
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!in_device_memory(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, [=] { return copy(pointer(to), from, bytes); });
}

API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!in_device_memory(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, [=] { return copy(to, pointer(from), bytes); });
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!in_device_memory(to, bytes) || !in_device_memory(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, [=] { return copy(pointer(to), pointer(from), bytes); });
}

namespace {

CUresult set(CUdeviceptr at, unsigned char value, size_t bytes) {
    charge(bytes / 16);
    std::memset(pointer(at), value, bytes);
    return CUDA_SUCCESS;
}

}  // namespace

API CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!in_device_memory(at, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, [=] { return set(at, value, bytes); });
}

API CUresult cuMemsetD8_v2(CUdeviceptr at, unsigned char value, size_t bytes) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!in_device_memory(at, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return put_off([=] { return set(at, value, bytes); });
}

API CUresult cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t count, CUstream stream) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (at % 4 || !in_device_memory(at, count * 4)) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, [=] {
        charge(count / 4);
        for (size_t i = 0; i < count; ++i) static_cast<unsigned*>(pointer(at))[i] = value;
        return CUDA_SUCCESS;
    });
}

API CUresult cuMemsetD32_v2(CUdeviceptr at, unsigned value, size_t count) { return cuMemsetD32Async(at, value, count, nullptr); }
