// The language of CUDA kernels for a C++ compiler of the host: included before every kernel's text by the stand-in NVRTC. A thread is
// a fiber of the stand-in driver; `ws_now` is the one that runs.
#pragma once
#include "abi.h"

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __constant__ static
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __grid_constant__
// Blocks are resident together, so each needs its own. Thread-local storage gives the linker's layout for nothing, and
// `__tls_get_addr` below puts it into the block's image instead of the thread's.
#define __shared__ static __thread
#define WS_HIDDEN __attribute__((visibility("hidden")))

extern "C" {
WS_HIDDEN WsThread* ws_now = nullptr;
WS_HIDDEN const WsHost* ws_host = nullptr;
// Called once by the driver after loading.
__attribute__((visibility("default"))) WsThread** ws_host_bind(const WsHost* host) {
    ws_host = host;
    return &ws_now;
}
struct WsTlsIndex {
    unsigned long module, offset;
};
// Hidden, so the calls that the compiler makes for `static __thread` end here and not in the C library.
WS_HIDDEN void* __tls_get_addr(WsTlsIndex* index) { return ws_now->shared + index->offset; }
}

// Arguments come as an array of pointers, as the driver interface has them.
template <class T>
struct WsPlain {
    using type = T;
};
template <class T>
struct WsPlain<const T> {
    using type = T;
};
template <bool FIRST, class A, class B>
struct WsChoose {
    using type = A;
};
template <class A, class B>
struct WsChoose<false, A, B> {
    using type = B;
};
template <class... A>
struct WsArguments {
    static constexpr unsigned count = sizeof...(A);
    static constexpr unsigned sizes[sizeof...(A) + 1] = {unsigned(sizeof(A))..., 0};
    template <unsigned... I>
    struct Positions {};
    template <unsigned... I>
    static void call(void (*f)(A...), void** p, Positions<I...>) {
        f(*static_cast<typename WsPlain<A>::type*>(p[I])...);
    }
    static void call(void (*f)(A...), void** p) { call(f, p, Positions<__integer_pack(sizeof...(A))...>{}); }
};
template <class... A>
constexpr WsArguments<A...> ws_arguments(void (*)(A...)) {
    return {};
}
// One line of this per kernel is put behind the text.
#define WS_HOST_KERNEL(symbol, function, max)                                               \
    extern "C" {                                                                            \
    extern __attribute__((visibility("default"))) const WsKernel ws_kernel_##symbol;        \
    const WsKernel ws_kernel_##symbol = {                                                   \
        [](void** p) { decltype(ws_arguments(function))::call(function, p); },              \
        decltype(ws_arguments(function))::sizes, decltype(ws_arguments(function))::count, max}; \
    }

using uint3 = WsDim;
struct dim3 : WsDim {
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : WsDim{x, y, z} {}
};
#define threadIdx (ws_now->thread)
#define blockIdx (ws_now->block)
#define blockDim (ws_now->block_dim)
#define gridDim (ws_now->grid_dim)
static constexpr int warpSize = 32;

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef __SIZE_TYPE__ size_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;

#define WS_HOST_VECTORS(T, name, align)                                                  \
    struct alignas(2 * align) name##2 { T x, y; };                                  \
    struct name##3 { T x, y, z; };                                                  \
    struct alignas(4 * align > 16 ? 16 : 4 * align) name##4 { T x, y, z, w; };      \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }               \
    static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }       \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define uint3 uint3_as_in_cuda
WS_HOST_VECTORS(int, int, 4)
WS_HOST_VECTORS(unsigned, uint, 4)
WS_HOST_VECTORS(float, float, 4)
WS_HOST_VECTORS(double, double, 8)
WS_HOST_VECTORS(short, short, 2)
WS_HOST_VECTORS(unsigned short, ushort, 2)
WS_HOST_VECTORS(signed char, char, 1)
WS_HOST_VECTORS(unsigned char, uchar, 1)
#undef uint3

// Barriers and spins. A thread runs until it waits: what others wait for must therefore let go of the processor.
static inline void ws_host_meet(WsMeeting kind, unsigned id, unsigned count) {
    ws_host->await(kind, id, ws_host->arrive(kind, id, count));
}
static inline void __syncthreads() { ws_host_meet(WS_BLOCK, 0, 0); }
static inline void __syncwarp(unsigned mask = ~0u) { ws_host_meet(WS_WARP, mask, 0); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) { ws_host->pause(); }
static inline void __trap() { ws_host->trap(WS_TRAP); }
static inline long long clock64() { return (long long)ws_host->clock(); }
static inline unsigned __activemask() { return ws_host->live_lanes(); }

#include "host_math.h"
#include "host_atomics.h"
#include "host_ws.h"
