// Host versions of the `ws_…` helpers that emitted and hand-written kernels use for everything a GPU does in its own way, and of the
// functions of CUDA that read textures.
#pragma once

static inline void ws_pause() { ws_host->pause(); }

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
    ws_host->surface_read(surface, byte_x, y, sizeof out, &out);
    return out;
}
template <class T>
static inline void surf2Dwrite(T value, cudaSurfaceObject_t surface, int byte_x, int y) {
    ws_host->surface_write(surface, byte_x, y, sizeof value, &value);
}
