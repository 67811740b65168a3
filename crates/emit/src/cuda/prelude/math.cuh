#ifndef WARPSIGHT_HOST
ws_fn float ws_rsqrt(float x) { return rsqrtf(x); }
ws_fn double ws_rsqrt(double x) { return rsqrt(x); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction, where the general form below takes three.
ws_fn float ws_min(float a, float b) { float c; asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b)); return c; }
ws_fn float ws_max(float a, float b) { float c; asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b)); return c; }
#endif
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
// The smaller and the larger; NaN where either is.
template <class T> ws_fn T ws_min(T a, T b) { return b < a || b != b ? b : a; }
template <class T> ws_fn T ws_max(T a, T b) { return b > a || b != b ? b : a; }
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
