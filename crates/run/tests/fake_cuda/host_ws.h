// Functions of CUDA that read textures and write surfaces, and the host's versions of the `ws_…` helpers that kernels use for
// everything a GPU does in its own way.
#pragma once

template <class T>
static inline T tex2D(cudaTextureObject_t texture, float x, float y) {
    WsTexel texel;
    ws_host->fetch(texture, x, y, &texel);
    T out;
    static_assert(sizeof out <= sizeof texel, "at most four 32-bit channels");
    __builtin_memcpy(&out, &texel, sizeof out);
    return out;
}
template <class T>
static inline T surf2Dread(cudaSurfaceObject_t surface, int byte_x, int y) {
    T out{};
    if (!ws_host->surface_read(surface, byte_x, y, sizeof out, &out)) ws_host->trap(WS_TRAP);
    return out;
}
template <class T>
static inline void surf2Dwrite(T value, cudaSurfaceObject_t surface, int byte_x, int y) {
    if (!ws_host->surface_write(surface, byte_x, y, sizeof value, &value)) ws_host->trap(WS_TRAP);
}

// Wide accesses want an address that is a multiple of their bytes, as on the device.
static inline void ws_host_aligned(const void* at, unsigned bytes) {
    if (reinterpret_cast<uintptr_t>(at) % bytes) ws_host->trap(WS_MISALIGNED);
}
// All lanes of a warp are here.
static inline void ws_host_warp() { ws_host_meet(WS_WARP, ~0u, 0); }

#include "host_emit.h"
#include "host_queue.h"
