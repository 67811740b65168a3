// What the prelude of emitted kernels (crates/emit/src/cuda/prelude) leaves to the hardware.
#pragma once

static inline float ws_rsqrt(float x) { return rsqrtf(x); }
static inline double ws_rsqrt(double x) { return rsqrt(x); }

static inline float ws_f16_to_f32(unsigned short bits) { return ws_host_half_value(bits); }
static inline unsigned short ws_f32_to_f16(float value) { return ws_host_half_bits(value); }
static inline unsigned short ws_f64_to_f16(double value) { return ws_host_half_bits(value); }
// Exact in double, or rounded there where that decides nothing.
static inline unsigned short ws_half_add(unsigned short a, unsigned short b) { return ws_host_half_bits((double)ws_host_half_value(a) + ws_host_half_value(b)); }
static inline unsigned short ws_half_sub(unsigned short a, unsigned short b) { return ws_host_half_bits((double)ws_host_half_value(a) - ws_host_half_value(b)); }
static inline unsigned short ws_half_mul(unsigned short a, unsigned short b) { return ws_host_half_bits((double)ws_host_half_value(a) * ws_host_half_value(b)); }
static inline unsigned short ws_half_fma(unsigned short a, unsigned short b, unsigned short c) {
    return ws_host_half_bits((double)ws_host_half_value(a) * ws_host_half_value(b) + ws_host_half_value(c));
}
static inline unsigned short ws_f32_to_bf16(float value) { return ws_host_bf16_bits(value); }

template <int BYTES>
static inline void ws_load_words(const void* from, unsigned* words) {
    ws_host_aligned(from, BYTES);
    __builtin_memcpy(words, from, BYTES);
}
template <int POLICY, int BYTES>
static inline void ws_store_words(void* to, const unsigned* words) {
    ws_host_aligned(to, BYTES);
    __builtin_memcpy(to, words, BYTES);
}

// Coordinates count texels and are read in the texel's middle.
template <class T>
static inline void ws_read_texel(unsigned long long texture, int x, int y, T* out) {
    static_assert(sizeof(T) == 4, "channels of 32 bits");
    WsTexel texel;
    ws_host->fetch(texture, (float)x + 0.5f, (float)y + 0.5f, &texel);
    __builtin_memcpy(out, &texel, sizeof texel);
}
template <class T>
static inline void ws_read_texel_1d(unsigned long long texture, int x, T* out) {
    WsTexel texel;
    ws_host->fetch_1d(texture, (float)x + 0.5f, &texel);
    __builtin_memcpy(out, &texel, sizeof texel);
}
template <class T>
static inline void ws_read_texel_buffer(unsigned long long texture, int x, T* out) {
    WsTexel texel;
    ws_host->fetch_line(texture, x, &texel);
    __builtin_memcpy(out, &texel, sizeof texel);
}
// Four components of a quarter of BYTES each, in the low bits of the words; a texel outside traps.
template <int BYTES>
static inline void ws_write_words(unsigned long long surface, int x, int y, const unsigned* words) {
    unsigned char texel[BYTES];
    for (int i = 0; i < 4; ++i) __builtin_memcpy(texel + i * (BYTES / 4), &words[i], BYTES / 4);
    if (!ws_host->surface_write(surface, x * BYTES, y, BYTES, texel)) ws_host->trap(WS_TRAP);
}

template <int BYTES>
static inline void ws_write_words_1d(unsigned long long surface, int x, const unsigned* words) {
    ws_write_words<BYTES>(surface, x, -1, words);
}

// Orders, scopes and spaces are all the same to one thread of the processor.
#define WS_HOST_ATOMIC(name, expression)                                          \
    template <int ORDER, int SCOPE, int SPACE, class T>                           \
    static inline T name(T* at, T value) {                                        \
        ws_host_aligned(at, sizeof(T));                                           \
        return ws_host_update(at, [=](T old) -> T { return expression; });        \
    }
WS_HOST_ATOMIC(ws_atomic_add, ws_host_sum(old, value))
WS_HOST_ATOMIC(ws_atomic_min, value < old ? value : old)
WS_HOST_ATOMIC(ws_atomic_max, value > old ? value : old)
WS_HOST_ATOMIC(ws_atomic_and, T(old & value))
WS_HOST_ATOMIC(ws_atomic_or, T(old | value))
WS_HOST_ATOMIC(ws_atomic_xor, T(old ^ value))
WS_HOST_ATOMIC(ws_atomic_exchange, ((void)old, value))
#undef WS_HOST_ATOMIC
template <int ORDER, int SCOPE, int SPACE, class T>
static inline T ws_atomic_compare_exchange(T* at, T compare, T value) {
    ws_host_aligned(at, sizeof(T));
    return ws_host_update(at, [=](T old) { return old == compare ? value : old; });
}
// Loads may be the turns of a spin.
template <int ORDER, int SCOPE, int SPACE, class T>
static inline T ws_atomic_load(T* at) {
    ws_host_aligned(at, sizeof(T));
    ws_host->pause();
    return *(volatile T*)at;
}
template <int ORDER, int SCOPE, int SPACE, class T>
static inline void ws_atomic_store(T* at, T value) {
    ws_host_aligned(at, sizeof(T));
    *(volatile T*)at = value;
    ++*ws_host->progress;
}

// A matrix tile of a warp: every lane holds all of it, and stores meet, so that lanes that do not come together hang here as on the
// device. Numbers are those of the prelude: part 0 left, 1 right, 2 sum; operand 0 f16, 1 bf16.
template <int PART, int OPERAND, int M, int N, int K>
struct ws_tile {
    static constexpr int rows = PART == 1 ? K : M, columns = PART == 0 ? K : N;
    using element = typename WsChoose<PART == 2, float, unsigned short>::type;
    element values[rows * columns];
};
template <int OPERAND>
static inline float ws_host_operand(unsigned short bits) {
    return OPERAND == 0 ? ws_host_half_value(bits) : ws_host_bf16_value(bits);
}
template <int PART, int OPERAND, int M, int N, int K>
static inline void ws_tile_load(ws_tile<PART, OPERAND, M, N, K>& tile, const void* from, int stride) {
    using Tile = ws_tile<PART, OPERAND, M, N, K>;
    ws_host_aligned(from, 32);
    if (stride % (16 / sizeof(typename Tile::element))) ws_host->trap(WS_MISALIGNED);
    ws_host_warp();
    for (int row = 0; row < Tile::rows; ++row)
        __builtin_memcpy(tile.values + row * Tile::columns, (const typename Tile::element*)from + row * stride,
                         Tile::columns * sizeof(typename Tile::element));
}
template <int OPERAND, int M, int N, int K>
static inline void ws_tile_store(void* to, const ws_tile<2, OPERAND, M, N, K>& tile, int stride) {
    ws_host_aligned(to, 32);
    ws_host_warp();
    for (int i = ws_now->lane; i < M * N; i += 32) ((float*)to)[i / N * stride + i % N] = tile.values[i];
    ws_host_warp();
}
template <int PART, int OPERAND, int M, int N, int K>
static inline void ws_tile_fill(ws_tile<PART, OPERAND, M, N, K>& tile, float value) {
    for (auto& v : tile.values) {
        if constexpr (PART == 2) v = value;
        else v = OPERAND == 0 ? ws_host_half_bits(value) : ws_host_bf16_bits(value);
    }
}
// Products of 16-bit floats are exact in f32; they are added one after the other.
template <int OPERAND, int M, int N, int K>
static inline void ws_mma(ws_tile<2, OPERAND, M, N, K>& sum, const ws_tile<0, OPERAND, M, N, K>& left, const ws_tile<1, OPERAND, M, N, K>& right) {
    ws_host_warp();
    for (int row = 0; row < M; ++row)
        for (int k = 0; k < K; ++k) {
            float a = ws_host_operand<OPERAND>(left.values[row * K + k]);
            for (int column = 0; column < N; ++column)
                sum.values[row * N + column] += a * ws_host_operand<OPERAND>(right.values[k * N + column]);
        }
}
