// Atomics and what the lanes of a warp do together. One processor thread runs all fibers, so plain operations are atomic; one that
// changed nothing is a step of a spin, and lets others run.
#pragma once

template <class T, class F>
static inline T ws_host_update(T* at, F f) {
    T old = *(volatile T*)at, now = f(old);
    *(volatile T*)at = now;
    if (__builtin_memcmp(&old, &now, sizeof old) == 0) ws_host->pause();
    else ++*ws_host->progress;
    return old;
}
// Signed sums wrap: the compiler is told so.
template <class T>
static inline T ws_host_sum(T a, T b) {
    return a + b;
}
#define WS_HOST_ATOMIC(name, T, expression) \
    static inline T name(T* at, T v) { \
        return ws_host_update(at, [v](T old) -> T { return expression; }); \
    }
#define WS_HOST_ATOMIC_INTEGERS(T)                                              \
    WS_HOST_ATOMIC(atomicAdd, T, ws_host_sum(old, v))                                       \
    WS_HOST_ATOMIC(atomicMin, T, v < old ? v : old)                             \
    WS_HOST_ATOMIC(atomicMax, T, v > old ? v : old)                             \
    WS_HOST_ATOMIC(atomicAnd, T, old & v)                                       \
    WS_HOST_ATOMIC(atomicOr, T, old | v)                                        \
    WS_HOST_ATOMIC(atomicXor, T, old ^ v)                                       \
    WS_HOST_ATOMIC(atomicExch, T, ((void)old, v))                               \
    static inline T atomicCAS(T* at, T expected, T v) {                    \
        return ws_host_update(at, [=](T old) { return old == expected ? v : old; }); \
    }
WS_HOST_ATOMIC_INTEGERS(unsigned)
WS_HOST_ATOMIC_INTEGERS(unsigned long long)
WS_HOST_ATOMIC_INTEGERS(long long)
WS_HOST_ATOMIC(atomicAdd, int, old + v)
WS_HOST_ATOMIC(atomicMin, int, v < old ? v : old)
WS_HOST_ATOMIC(atomicMax, int, v > old ? v : old)
WS_HOST_ATOMIC(atomicAnd, int, old & v)
WS_HOST_ATOMIC(atomicOr, int, old | v)
WS_HOST_ATOMIC(atomicXor, int, old ^ v)
WS_HOST_ATOMIC(atomicExch, int, ((void)old, v))
WS_HOST_ATOMIC(atomicAdd, float, old + v)
WS_HOST_ATOMIC(atomicExch, float, ((void)old, v))
WS_HOST_ATOMIC(atomicAdd, double, old + v)
#undef WS_HOST_ATOMIC_INTEGERS
#undef WS_HOST_ATOMIC
static inline int atomicCAS(int* at, int expected, int v) {
    return ws_host_update(at, [=](int old) { return old == expected ? v : old; });
}
static inline int atomicSub(int* at, int v) { return atomicAdd(at, int(0u - unsigned(v))); }
static inline unsigned atomicSub(unsigned* at, unsigned v) { return atomicAdd(at, 0u - v); }

// A lane that names one outside the mask gets its own value, where the hardware promises nothing.
template <class T>
static inline T ws_host_from_lane(unsigned mask, T value, unsigned lane) {
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    const unsigned long long* all = ws_host->exchange(mask, bits);
    T out = value;
    if (lane < 32 && (mask >> lane & 1)) __builtin_memcpy(&out, &all[lane], sizeof out);
    return out;
}
template <class T>
static inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32) {
    unsigned base = ws_now->lane & ~unsigned(width - 1);
    return ws_host_from_lane(mask, v, base + (unsigned(lane) & unsigned(width - 1)));
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
    (void)width;
    return ws_host_from_lane(mask, v, ws_now->lane ^ unsigned(bits));
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
    unsigned at = ws_now->lane & unsigned(width - 1);
    return ws_host_from_lane(mask, v, at + by < unsigned(width) ? ws_now->lane + by : ws_now->lane);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
    unsigned at = ws_now->lane & unsigned(width - 1);
    return ws_host_from_lane(mask, v, at >= by ? ws_now->lane - by : ws_now->lane);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const unsigned long long* all = ws_host->exchange(mask, predicate != 0);
    unsigned out = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        if ((mask >> lane & 1) && all[lane]) out |= 1u << lane;
    return out;
}
static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) {
    unsigned live = mask & ws_host->live_lanes();
    return (__ballot_sync(mask, predicate) & live) == live;
}
