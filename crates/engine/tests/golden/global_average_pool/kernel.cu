#ifndef WARPSIGHT_HOST
#define ws_fn __device__ __forceinline__
#else
#define ws_fn inline
#endif
// The bits of a value as another type of its size.
template <class To, class From> ws_fn To ws_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
#define WS_VECTORS
// A vector: lanes side by side, operators lane by lane.
template <class T, int N> struct ws_vec {
    T lanes[N];
    ws_fn T& operator[](int i) { return lanes[i]; }
    ws_fn const T& operator[](int i) const { return lanes[i]; }
};
template <int N, class T> ws_fn ws_vec<T, N> ws_splat(T value)
{
    ws_vec<T, N> out;
    for (int i = 0; i < N; ++i) out[i] = value;
    return out;
}
// f of each lane; of one value where there is no vector.
template <class F, class T> ws_fn auto ws_each(F f, T a) { return f(a); }
template <class F, class T> ws_fn auto ws_each(F f, T a, T b) { return f(a, b); }
template <class F, class T, int N> ws_fn auto ws_each(F f, ws_vec<T, N> a)
{
    ws_vec<decltype(f(a[0])), N> out;
    for (int i = 0; i < N; ++i) out[i] = f(a[i]);
    return out;
}
template <class F, class T, int N> ws_fn auto ws_each(F f, ws_vec<T, N> a, ws_vec<T, N> b)
{
    ws_vec<decltype(f(a[0], b[0])), N> out;
    for (int i = 0; i < N; ++i) out[i] = f(a[i], b[i]);
    return out;
}
// A scalar beside a vector is spread.
#define WS_BINARY(op) \
    template <class T, int N> ws_fn auto operator op(ws_vec<T, N> a, ws_vec<T, N> b) { return ws_each([](T x, T y) { return x op y; }, a, b); } \
    template <class T, int N> ws_fn auto operator op(ws_vec<T, N> a, T b) { return a op ws_splat<N>(b); } \
    template <class T, int N> ws_fn auto operator op(T a, ws_vec<T, N> b) { return ws_splat<N>(a) op b; }
WS_BINARY(+)
WS_BINARY(-)
WS_BINARY(*)
WS_BINARY(/)
WS_BINARY(%)
WS_BINARY(&)
WS_BINARY(|)
WS_BINARY(^)
WS_BINARY(&&)
WS_BINARY(||)
WS_BINARY(<)
WS_BINARY(<=)
WS_BINARY(==)
WS_BINARY(!=)
#undef WS_BINARY
template <class T, int N> ws_fn auto operator-(ws_vec<T, N> a) { return ws_each([](T x) { return -x; }, a); }
template <class T, int N> ws_fn auto operator~(ws_vec<T, N> a) { return ws_each([](T x) { return ~x; }, a); }
template <class T, int N> ws_fn auto operator!(ws_vec<T, N> a) { return ws_each([](T x) { return !x; }, a); }
template <class T, int N> ws_fn ws_vec<T, N> ws_select(ws_vec<bool, N> condition, ws_vec<T, N> a, ws_vec<T, N> b)
{
    for (int i = 0; i < N; ++i) b[i] = condition[i] ? a[i] : b[i];
    return b;
}
// Lanes start .. start + N.
template <int START, int N, class T, int M> ws_fn ws_vec<T, N> ws_slice(ws_vec<T, M> from)
{
    ws_vec<T, N> out;
    for (int i = 0; i < N; ++i) out[i] = from[START + i];
    return out;
}
// A lane chosen at run time, without a detour through memory.
template <class T, int N> ws_fn T ws_lane(ws_vec<T, N> from, int lane)
{
    T out = from[0];
    for (int i = 1; i < N; ++i) out = lane == i ? from[i] : out;
    return out;
}
template <class T, int N> ws_fn void ws_put(ws_vec<T, N>& out, int& at, T part) { out[at++] = part; }
template <class T, int N, int M> ws_fn void ws_put(ws_vec<T, N>& out, int& at, ws_vec<T, M> part)
{
    for (int i = 0; i < M; ++i) out[at++] = part[i];
}
// The lanes of all parts.
template <class T, int N, class... Parts> ws_fn ws_vec<T, N> ws_concat(Parts... parts)
{
    ws_vec<T, N> out;
    int at = 0;
    (ws_put(out, at, parts), ...);
    return out;
}
// How elements lie in memory where that differs from their type: 16-bit floats and truth values.
struct ws_f16 { unsigned short bits; };
struct ws_bf16 { unsigned short bits; };
struct ws_bool { unsigned char bits; };
#ifndef WARPSIGHT_HOST
ws_fn float ws_f16_to_f32(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
// To nearest even.
ws_fn unsigned short ws_f32_to_f16(float value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
// To nearest even.
ws_fn unsigned short ws_f32_to_bf16(float value)
{
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif
template <class T> ws_fn T ws_widen(T value) { return value; }
ws_fn float ws_widen(ws_f16 value) { return ws_f16_to_f32(value.bits); }
ws_fn float ws_widen(ws_bf16 value) { return ws_bits<float>((unsigned)value.bits << 16); }
ws_fn bool ws_widen(ws_bool value) { return value.bits != 0; }
ws_fn void ws_narrow(ws_f16& to, float value) { to.bits = ws_f32_to_f16(value); }
ws_fn void ws_narrow(ws_bf16& to, float value) { to.bits = ws_f32_to_bf16(value); }
ws_fn void ws_narrow(ws_bool& to, bool value) { to.bits = value; }
template <class T> ws_fn void ws_narrow(T& to, T value) { to = value; }
// The nearest value that the storage type has.
template <class S> ws_fn float ws_round(float value)
{
    S stored;
    ws_narrow(stored, value);
    return ws_widen(stored);
}
#ifdef WS_VECTORS
template <class S, int N> ws_fn ws_vec<float, N> ws_round(ws_vec<float, N> value)
{
    return ws_each([](float x) { return ws_round<S>(x); }, value);
}
#endif
#ifndef WARPSIGHT_HOST
// Coordinates count texels; a read lies in a texel's middle, where every filter gives that texel. Four components.
#define WS_TEXEL(T, type, c) \
    ws_fn void ws_read_texel(unsigned long long texture, int x, int y, T* out) \
    { \
        asm volatile("tex.2d.v4." type ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" \
                     : "=" c(out[0]), "=" c(out[1]), "=" c(out[2]), "=" c(out[3]) \
                     : "l"(texture), "f"((float)x + 0.5f), "f"((float)y + 0.5f)); \
    }
WS_TEXEL(float, "f32", "f")
WS_TEXEL(int, "s32", "r")
WS_TEXEL(unsigned, "u32", "r")
#undef WS_TEXEL
// BYTES is 16, 8 or 4 a texel, four components of a quarter each, in the low bits of the words.
template <int BYTES> ws_fn void ws_write_words(unsigned long long surface, int x, int y, const unsigned* words)
{
    if constexpr (BYTES == 16) {
        asm volatile("sust.b.2d.v4.b32.trap [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(surface), "r"(x * 16), "r"(y), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
    } else if constexpr (BYTES == 8) {
        asm volatile("sust.b.2d.v4.b16.trap [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(surface), "r"(x * 8), "r"(y), "h"((unsigned short)words[0]), "h"((unsigned short)words[1]), "h"((unsigned short)words[2]), "h"((unsigned short)words[3]) : "memory");
    } else {
        asm volatile("sust.b.2d.v4.b8.trap [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(surface), "r"(x * 4), "r"(y), "h"((unsigned short)words[0]), "h"((unsigned short)words[1]), "h"((unsigned short)words[2]), "h"((unsigned short)words[3]) : "memory");
    }
}
#endif
// How a component is stored.
struct ws_rgba32 { static constexpr int bytes = 16; template <class T> static ws_fn unsigned pack(T v) { return ws_bits<unsigned>(v); } };
struct ws_rgba16f { static constexpr int bytes = 8; static ws_fn unsigned pack(float v) { return ws_f32_to_f16(v); } };
// A fraction of 255, to nearest even.
struct ws_rgba8 { static constexpr int bytes = 4; static ws_fn unsigned pack(float v) { return (unsigned)rintf(fminf(fmaxf(v, 0.0f), 1.0f) * 255.0f); } };
template <class T> ws_fn ws_vec<T, 4> ws_texel(unsigned long long texture, int x, int y)
{
    ws_vec<T, 4> out;
    ws_read_texel(texture, x, y, out.lanes);
    return out;
}
template <class Format, class T> ws_fn void ws_write_texel(unsigned long long surface, int x, int y, ws_vec<T, 4> value)
{
    unsigned words[4];
    for (int i = 0; i < 4; ++i) words[i] = Format::pack(value[i]);
    ws_write_words<Format::bytes>(surface, x, y, words);
}

extern "C" __global__ void __launch_bounds__(4) global_average_pool(
    const unsigned long long input,  // 7 x 28 texels, float RGBA
    const unsigned long long output)  // 1 x 4 texels, float RGBA
{
    const int gc = blockIdx.x;
    const int lc = threadIdx.x;
    const int c0 = gc*4 + lc;
    ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
    const int at0 = c0*7;
#pragma unroll 1
    for (int r20 = 0; r20 < 7; ++r20) {
        const int at1 = at0 + r20;
#pragma unroll 1
        for (int r30 = 0; r30 < 7; ++r30) {
            {
                const ws_vec<float, 4> input_0 = ws_texel<float>(input, r30, at1);
                acc0 = acc0 + input_0;
            }
        }
    }
    {
        const ws_vec<float, 4> value = acc0 * 0.020408163f;
        ws_write_texel<ws_rgba32>(output, 0, c0, value);
    }
}
