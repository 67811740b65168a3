// The device that the stand-in pretends to be, contexts, and faults ordered through the environment:
//
//   WS_FAKE_NO_DEVICE=1        cuInit finds no device
//   WS_FAKE_OLD_DRIVER=1       the driver's version is 11.4 (the library in `old/` also lacks what came later)
//   WS_FAKE_ARCH=80            compute capability times ten, 90 without
//   WS_FAKE_ATTRIBUTE_16=132   any device attribute by its number
//   WS_FAKE_MEMORY_BYTES=n     memory of the device, 1 GiB without
//   WS_FAKE_OOM_BYTES=n        allocations beyond so many bytes in all fail
//   WS_FAKE_LOST_AT=n          the n-th launch of the process faults, and every call after it fails
//   WS_FAKE_HANG_AT=n          the n-th launch never ends, and whoever waits for it waits
//   WS_FAKE_LOSE_NODE=1        graphs of several nodes run without their last
//   WS_FAKE_ORDER=reverse      threads take turns from the last to the first
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "driver.h"

struct Context {
    int users = 0;
    std::map<unsigned, size_t> limits{{0, 1024}, {1, 1 << 20}, {2, 8 << 20}, {5, 64}, {6, 0}};
};

namespace {

std::recursive_mutex lock;
bool initialised = false;
Context primary;
thread_local Context* current = nullptr;
CUresult lost = CUDA_SUCCESS;

// By CUdevice_attribute. A small Hopper-like device: few multiprocessors, so that launches larger than it are quick to make.
const std::map<int, int> FACTS = {
    {1, 1024},          // MAX_THREADS_PER_BLOCK
    {2, 1024},          // MAX_BLOCK_DIM_X
    {3, 1024},          // MAX_BLOCK_DIM_Y
    {4, 64},            // MAX_BLOCK_DIM_Z
    {5, 2147483647},    // MAX_GRID_DIM_X
    {6, 65535},         // MAX_GRID_DIM_Y
    {7, 65535},         // MAX_GRID_DIM_Z
    {8, 49152},         // MAX_SHARED_MEMORY_PER_BLOCK
    {9, 65536},         // TOTAL_CONSTANT_MEMORY
    {10, 32},           // WARP_SIZE
    {11, 2147483647},   // MAX_PITCH
    {12, 65536},        // MAX_REGISTERS_PER_BLOCK
    {13, 1000000},      // CLOCK_RATE in kHz
    {14, 512},          // TEXTURE_ALIGNMENT
    {15, 1},            // GPU_OVERLAP
    {16, 4},            // MULTIPROCESSOR_COUNT
    {19, 1},            // CAN_MAP_HOST_MEMORY
    {21, 131072},       // MAXIMUM_TEXTURE1D_WIDTH
    {22, 131072},       // MAXIMUM_TEXTURE2D_WIDTH
    {23, 65536},        // MAXIMUM_TEXTURE2D_HEIGHT
    {30, 512},          // SURFACE_ALIGNMENT
    {31, 1},            // CONCURRENT_KERNELS
    {33, 1},            // PCI_BUS_ID
    {36, 1000000},      // MEMORY_CLOCK_RATE in kHz
    {37, 512},          // GLOBAL_MEMORY_BUS_WIDTH in bits
    {38, 1048576},      // L2_CACHE_SIZE
    {39, 2048},         // MAX_THREADS_PER_MULTIPROCESSOR
    {40, 1},            // ASYNC_ENGINE_COUNT
    {41, 1},            // UNIFIED_ADDRESSING
    {51, 32},           // TEXTURE_PITCH_ALIGNMENT
    {55, 32768},        // MAXIMUM_SURFACE1D_WIDTH
    {56, 131072},       // MAXIMUM_SURFACE2D_WIDTH
    {57, 65536},        // MAXIMUM_SURFACE2D_HEIGHT
    {69, 268435456},    // MAXIMUM_TEXTURE1D_LINEAR_WIDTH
    {70, 131072},       // MAXIMUM_TEXTURE2D_LINEAR_WIDTH
    {71, 65000},        // MAXIMUM_TEXTURE2D_LINEAR_HEIGHT
    {72, 2097120},      // MAXIMUM_TEXTURE2D_LINEAR_PITCH
    {75, 9},            // COMPUTE_CAPABILITY_MAJOR
    {76, 0},            // COMPUTE_CAPABILITY_MINOR
    {78, 1},            // STREAM_PRIORITIES_SUPPORTED
    {79, 1},            // GLOBAL_L1_CACHE_SUPPORTED
    {80, 1},            // LOCAL_L1_CACHE_SUPPORTED
    {81, 233472},       // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    {82, 65536},        // MAX_REGISTERS_PER_MULTIPROCESSOR
    {90, 1},            // COMPUTE_PREEMPTION_SUPPORTED
    {95, 1},            // COOPERATIVE_LAUNCH
    {97, 232448},       // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    {106, 32},          // MAX_BLOCKS_PER_MULTIPROCESSOR
    {108, 655360},      // MAX_PERSISTING_L2_CACHE_SIZE
    {109, 1048576},     // MAX_ACCESS_POLICY_WINDOW_SIZE
    {111, 1024},        // RESERVED_SHARED_MEMORY_PER_BLOCK
    {120, 1},           // CLUSTER_LAUNCH
};

// Compute capability times ten.
int capability() { return int(setting("WS_FAKE_ARCH", 90)); }

const char* const UUID = "warpsight-fake-0";

}  // namespace

// How a program learns that nothing here was measured.
API const char* warpsight_simulated_driver() { return "warpsight stand-in for the CUDA driver"; }

std::lock_guard<std::recursive_mutex> locked() { return std::lock_guard<std::recursive_mutex>(lock); }

long long setting(const char* name, long long otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::atoll(text) : otherwise;
}

CUresult usable() {
    if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (!current) return CUDA_ERROR_INVALID_CONTEXT;
    return lost;
}

void lose(CUresult why) { lost = why; }

int attribute(int number) {
    // Any fact may be set: WS_FAKE_ATTRIBUTE_16=132.
    char name[40];
    std::snprintf(name, sizeof name, "WS_FAKE_ATTRIBUTE_%d", number);
    if (std::getenv(name)) return int(setting(name, 0));
    if (number == 75) return capability() / 10;
    if (number == 76) return capability() % 10;
    if (number == 120 && capability() < 90) return 0;
    if (number == 97 && capability() < 90) return capability() == 80 ? 166912 : 101376;
    auto found = FACTS.find(number);
    return found == FACTS.end() ? 0 : found->second;
}

std::string device_arch() { return std::to_string(capability()); }

API CUresult cuInit(unsigned flags) {
    auto lock = locked();
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (setting("WS_FAKE_NO_DEVICE", 0)) return CUDA_ERROR_NO_DEVICE;
    initialised = true;
    return CUDA_SUCCESS;
}

API CUresult cuDriverGetVersion(int* version) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = setting("WS_FAKE_OLD_DRIVER", 0) ? 11040 : 13000;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int* count) {
    auto lock = locked();
    if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
    *count = 1;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    auto lock = locked();
    if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (!name || bytes < 1) return CUDA_ERROR_INVALID_VALUE;
    std::snprintf(name, size_t(bytes), "warpsight stand-in for a CUDA device");
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    std::memcpy(uuid->bytes, UUID, sizeof uuid->bytes);
    return CUDA_SUCCESS;
}

API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = size_t(setting("WS_FAKE_MEMORY_BYTES", 1 << 30));
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetAttribute(int* value, int number, CUdevice device) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (!value || number < 1 || number > 144) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute(number);
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (!text || bytes < 13) return CUDA_ERROR_INVALID_VALUE;
    std::snprintf(text, size_t(bytes), "0000:01:00.0");
    return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
    auto lock = locked();
    if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (lost) return lost;
    ++primary.users;
    *out = &primary;
    return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    auto lock = locked();
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (primary.users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary.users == 0) {
        primary = Context{};
        lost = CUDA_SUCCESS;
        forget_late();
        release_memory();
    }
    return CUDA_SUCCESS;
}

API CUresult cuCtxSetCurrent(CUcontext context) {
    auto lock = locked();
    if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
    current = context;
    return CUDA_SUCCESS;
}

API CUresult cuCtxGetCurrent(CUcontext* out) {
    auto lock = locked();
    if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
    *out = current;
    return CUDA_SUCCESS;
}

API CUresult cuCtxSetLimit(unsigned limit, size_t value) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    auto found = primary.limits.find(limit);
    if (found == primary.limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    // The driver takes as much of the persisting set-aside as there is.
    found->second = limit == 6 ? std::min<size_t>(value, size_t(attribute(108))) : value;
    return CUDA_SUCCESS;
}

API CUresult cuCtxGetLimit(size_t* value, unsigned limit) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    auto found = primary.limits.find(limit);
    if (found == primary.limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = found->second;
    return CUDA_SUCCESS;
}

API CUresult cuCtxResetPersistingL2Cache() {
    auto lock = locked();
    return usable();
}

#define ERRORS(X)                                                                                              \
    X(CUDA_SUCCESS, "no error")                                                                                \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                            \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                               \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                                      \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                              \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                                     \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                              \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                                    \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")                \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture")                             \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                                    \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                                          \
    X(CUDA_ERROR_NOT_READY, "device not ready")                                                                \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                                  \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                           \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")                                    \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")                                \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                                                     \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch")                        \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                                     \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")               \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, "cluster misconfiguration")

API CUresult cuGetErrorName(CUresult error, const char** text) {
    switch (error) {
#define NAME(code, words) case code: *text = #code; return CUDA_SUCCESS;
        ERRORS(NAME)
    }
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGetErrorString(CUresult error, const char** text) {
    switch (error) {
#define WORDS(code, words) case code: *text = words; return CUDA_SUCCESS;
        ERRORS(WORDS)
    }
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}
