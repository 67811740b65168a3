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
#ifndef WARPSIGHT_HOST
ws_fn float ws_rsqrt(float x) { return rsqrtf(x); }
ws_fn double ws_rsqrt(double x) { return rsqrt(x); }
#endif
#define WS_FUNCTION(name, single, twice) \
    ws_fn float name(float x) { return single(x); } \
    ws_fn double name(double x) { return twice(x); }
WS_FUNCTION(ws_abs, fabsf, fabs)
WS_FUNCTION(ws_floor, floorf, floor)
WS_FUNCTION(ws_ceil, ceilf, ceil)
WS_FUNCTION(ws_exp, expf, exp)
WS_FUNCTION(ws_log, logf, log)
WS_FUNCTION(ws_sqrt, sqrtf, sqrt)
WS_FUNCTION(ws_tanh, tanhf, tanh)
WS_FUNCTION(ws_sin, sinf, sin)
WS_FUNCTION(ws_cos, cosf, cos)
WS_FUNCTION(ws_erf, erff, erf)
#undef WS_FUNCTION
// The smaller and the larger; of floats the other one where one is not a number.
template <class T> ws_fn T ws_min(T a, T b) { return b < a ? b : a; }
template <class T> ws_fn T ws_max(T a, T b) { return a < b ? b : a; }
ws_fn float ws_min(float a, float b) { return fminf(a, b); }
ws_fn float ws_max(float a, float b) { return fmaxf(a, b); }
ws_fn double ws_min(double a, double b) { return fmin(a, b); }
ws_fn double ws_max(double a, double b) { return fmax(a, b); }
ws_fn float ws_fmod(float a, float b) { return fmodf(a, b); }
ws_fn double ws_fmod(double a, double b) { return fmod(a, b); }
// a · b + c, rounded once.
ws_fn float ws_fma(float a, float b, float c) { return fmaf(a, b, c); }
ws_fn double ws_fma(double a, double b, double c) { return fma(a, b, c); }
// Shifts, the count modulo the width; a signed value keeps its bits to the left and its sign to the right.
template <class T> ws_fn T ws_shl(T a, T b) { return T((unsigned long long)a << (int(b) & int(8 * sizeof(T) - 1))); }
template <class T> ws_fn T ws_shr(T a, T b) { return a >> (int(b) & int(8 * sizeof(T) - 1)); }
#ifdef WS_VECTORS
#define WS_FUNCTION(name) \
    template <class T, int N> ws_fn ws_vec<T, N> name(ws_vec<T, N> a) { return ws_each([](T x) { return name(x); }, a); }
WS_FUNCTION(ws_rsqrt)
WS_FUNCTION(ws_abs)
WS_FUNCTION(ws_floor)
WS_FUNCTION(ws_ceil)
WS_FUNCTION(ws_exp)
WS_FUNCTION(ws_log)
WS_FUNCTION(ws_sqrt)
WS_FUNCTION(ws_tanh)
WS_FUNCTION(ws_sin)
WS_FUNCTION(ws_cos)
WS_FUNCTION(ws_erf)
#undef WS_FUNCTION
#define WS_FUNCTION(name) \
    template <class T, int N> ws_fn ws_vec<T, N> name(ws_vec<T, N> a, ws_vec<T, N> b) { return ws_each([](T x, T y) { return name(x, y); }, a, b); }
WS_FUNCTION(ws_min)
WS_FUNCTION(ws_max)
WS_FUNCTION(ws_fmod)
WS_FUNCTION(ws_shl)
WS_FUNCTION(ws_shr)
#undef WS_FUNCTION
template <class T, int N> ws_fn ws_vec<T, N> ws_fma(ws_vec<T, N> a, ws_vec<T, N> b, ws_vec<T, N> c)
{
    for (int i = 0; i < N; ++i) c[i] = ws_fma(a[i], b[i], c[i]);
    return c;
}
#endif
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
// What a store asks of caches.
enum ws_policy { ws_back, ws_through, ws_stream };
#ifndef WARPSIGHT_HOST
// BYTES (4, 8 or 16) at an address that is a multiple of them, in 32-bit words.
template <int BYTES> ws_fn void ws_load_words(const void* from, unsigned* words)
{
    if constexpr (BYTES == 16) {
        const uint4 v = *(const uint4*)from;
        words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
    } else if constexpr (BYTES == 8) {
        const uint2 v = *(const uint2*)from;
        words[0] = v.x, words[1] = v.y;
    } else {
        words[0] = *(const unsigned*)from;
    }
}
#define WS_STORE(cache) \
    if constexpr (BYTES == 16) { \
        asm volatile("st.global." cache ".v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory"); \
    } else if constexpr (BYTES == 8) { \
        asm volatile("st.global." cache ".v2.b32 [%0], {%1, %2};" ::"l"(at), "r"(words[0]), "r"(words[1]) : "memory"); \
    } else if constexpr (BYTES == 4) { \
        asm volatile("st.global." cache ".b32 [%0], %1;" ::"l"(at), "r"(words[0]) : "memory"); \
    } else if constexpr (BYTES == 2) { \
        asm volatile("st.global." cache ".b16 [%0], %1;" ::"l"(at), "h"((unsigned short)words[0]) : "memory"); \
    } else { \
        asm volatile("st.global." cache ".b8 [%0], %1;" ::"l"(at), "r"(words[0]) : "memory"); \
    }
// Writes BYTES (1, 2, 4, 8 or 16) to an address that is a multiple of them. Other policies than ws_back are for global memory.
template <int POLICY, int BYTES> ws_fn void ws_store_words(void* to, const unsigned* words)
{
    if constexpr (POLICY == ws_back) {
        if constexpr (BYTES == 16) {
            *(uint4*)to = make_uint4(words[0], words[1], words[2], words[3]);
        } else if constexpr (BYTES == 8) {
            *(uint2*)to = make_uint2(words[0], words[1]);
        } else if constexpr (BYTES == 4) {
            *(unsigned*)to = words[0];
        } else if constexpr (BYTES == 2) {
            *(unsigned short*)to = words[0];
        } else {
            *(unsigned char*)to = words[0];
        }
    } else {
        const unsigned long long at = __cvta_generic_to_global(to);
        if constexpr (POLICY == ws_through) {
            WS_STORE("wt")
        } else {
            WS_STORE("cs")
        }
    }
}
#undef WS_STORE
#endif
// N elements from an address that is a multiple of BYTES: element by element where BYTES is no more than one has.
template <int N, int BYTES, class S> ws_fn auto ws_load(const S* from)
{
    ws_vec<decltype(ws_widen(*from)), N> out;
    if constexpr (BYTES >= 4 && BYTES > sizeof(S)) {
        constexpr int step = BYTES / sizeof(S);
        for (int i = 0; i < N; i += step) {
            unsigned words[BYTES / 4];
            S part[step];
            ws_load_words<BYTES>(from + i, words);
            memcpy(part, words, sizeof part);
            for (int j = 0; j < step; ++j) out[i + j] = ws_widen(part[j]);
        }
    } else {
        for (int i = 0; i < N; ++i) out[i] = ws_widen(from[i]);
    }
    return out;
}
// Writes one element.
template <int POLICY, class S, class T> ws_fn void ws_store(S* to, T value)
{
    S part;
    unsigned words[(sizeof part + 3) / 4] = {};
    ws_narrow(part, value);
    memcpy(words, &part, sizeof part);
    ws_store_words<POLICY, sizeof part>(to, words);
}
// Writes N elements to an address that is a multiple of BYTES: element by element where BYTES is no more than one has.
template <int POLICY, int BYTES, class S, class T, int N> ws_fn void ws_store(S* to, ws_vec<T, N> value)
{
    if constexpr (BYTES >= 4 && BYTES > sizeof(S)) {
        constexpr int step = BYTES / sizeof(S);
        for (int i = 0; i < N; i += step) {
            unsigned words[BYTES / 4];
            S part[step];
            for (int j = 0; j < step; ++j) ws_narrow(part[j], value[i + j]);
            memcpy(words, part, sizeof part);
            ws_store_words<POLICY, BYTES>(to + i, words);
        }
    } else if constexpr (POLICY == ws_back) {
        for (int i = 0; i < N; ++i) ws_narrow(to[i], value[i]);
    } else {
        for (int i = 0; i < N; ++i) ws_store<POLICY>(to + i, value[i]);
    }
}

extern "C" __global__ void __launch_bounds__(64) conv2d(
    const float* __restrict__ input,  // [1176]
    const float* __restrict__ weight,  // [432]
    float* __restrict__ output)  // [1568]
{
    const int gx = blockIdx.x;
    const int gy = blockIdx.y;
    const int gk = blockIdx.z;
    const int lx = threadIdx.x;
    const int ly = threadIdx.y;
    const int k0 = gk;
    const int y0 = gy*8 + ly;
    const int x0 = gx*8 + lx;
    const int at0 = y0*14 + x0*2;
    const int at5 = x0*2;
    const int at7 = k0*108;
    const int at11 = k0*392 + y0*14 + x0*2;
    if (y0 < 14 && x0 < 7) {
        ws_vec<float, 2> acc0 = ws_splat<2>(0.0f);
        ws_vec<float, 2> acc1 = ws_splat<2>(0.0f);
#pragma unroll 1
        for (int c0 = 0; c0 < 6; ++c0) {
            const int at1 = at0 + c0*196;
            const int at8 = at7 + c0*9;
#pragma unroll 1
            for (int r0 = 0; r0 < 3; ++r0) {
                const int at2 = at1 + r0*14;
                const int at4 = y0 + r0;
                const int at9 = at8 + r0*3;
#pragma unroll 1
                for (int s0 = 0; s0 < 3; ++s0) {
                    const int at3 = at2 + s0;
                    const int at6 = at5 + s0;
                    const int at10 = at9 + s0;
                    {
                        ws_vec<float, 2> input_0 = ws_vec<float, 2>{};
                        if ((unsigned)(at4 - 1) < 14u) {
                            const int t0 = at6 - 1;
                            if (t0 >= 0 && t0 <= 12) {
                                input_0 = ws_load<2, 4>(input + (at3 - 15));
                            } else {
                                const int t1 = at3 - 15;
                                if ((unsigned)t0 < 14u) input_0[0] = input[t1];
                                if (t0 + 1 < 14) input_0[1] = input[t1 + 1];
                            }
                        }
                        const float weight_1 = weight[at10];
                        const float weight_2 = weight[at10 + 54];
                        acc0 = ws_fma(input_0, ws_splat<2>(weight_1), acc0);
                        acc1 = ws_fma(input_0, ws_splat<2>(weight_2), acc1);
                    }
                }
            }
        }
        {
            const ws_vec<float, 2> value = acc0;
            ws_store<ws_back, 8>(output + at11, value);
        }
        {
            const ws_vec<float, 2> value = acc1;
            ws_store<ws_back, 8>(output + (at11 + 196), value);
        }
    }
}
