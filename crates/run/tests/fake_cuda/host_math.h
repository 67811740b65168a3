// Functions of the CUDA mathematics library by their names there. They are the C library's, so transcendental ones differ from the
// GPU's in the last places, as the GPU's do from everybody's.
#pragma once

extern "C" {
float expf(float) noexcept;
float exp2f(float) noexcept;
float logf(float) noexcept;
float log2f(float) noexcept;
float sqrtf(float) noexcept;
float tanhf(float) noexcept;
float sinf(float) noexcept;
float cosf(float) noexcept;
float erff(float) noexcept;
float powf(float, float) noexcept;
float fmaf(float, float, float) noexcept;
float floorf(float) noexcept;
float ceilf(float) noexcept;
float fabsf(float) noexcept;
float fminf(float, float) noexcept;
float fmaxf(float, float) noexcept;
float truncf(float) noexcept;
float rintf(float) noexcept;
float fmodf(float, float) noexcept;
double exp(double) noexcept;
double log(double) noexcept;
double sqrt(double) noexcept;
double tanh(double) noexcept;
double sin(double) noexcept;
double cos(double) noexcept;
double erf(double) noexcept;
double pow(double, double) noexcept;
double fma(double, double, double) noexcept;
double floor(double) noexcept;
double ceil(double) noexcept;
double fabs(double) noexcept;
double fmin(double, double) noexcept;
double fmax(double, double) noexcept;
double trunc(double) noexcept;
double rint(double) noexcept;
double fmod(double, double) noexcept;
int abs(int) noexcept;
void* memcpy(void*, const void*, __SIZE_TYPE__) noexcept;
void* memset(void*, int, __SIZE_TYPE__) noexcept;
}
// Without the wrapper's rounding twice: 1/√x of a float is exact enough in double.
static inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }

template <class To, class From>
static inline To ws_host_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits of equal number");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
static inline float __int_as_float(int v) { return ws_host_bits<float>(v); }
static inline float __uint_as_float(unsigned v) { return ws_host_bits<float>(v); }
static inline int __float_as_int(float v) { return ws_host_bits<int>(v); }
static inline unsigned __float_as_uint(float v) { return ws_host_bits<unsigned>(v); }
static inline double __longlong_as_double(long long v) { return ws_host_bits<double>(v); }
static inline long long __double_as_longlong(double v) { return ws_host_bits<long long>(v); }

// Bits of the 16-bit formats, rounded to the nearest, ties to even.
static inline float ws_host_half_value(unsigned short h) {
    unsigned sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return ws_host_bits<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent) return ws_host_bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
    float value = float(fraction) * 0x1p-24f;  // exact
    return sign ? -value : value;
}
static inline unsigned short ws_host_half_bits(double value) {
    unsigned long long bits = ws_host_bits<unsigned long long>(value);
    unsigned sign = unsigned(bits >> 48 & 0x8000);
    double size = fabs(value);
    if (!(size == size)) return (unsigned short)(sign | 0x7e00);
    if (size >= 65520.0) return (unsigned short)(sign | 0x7c00);
    // The quantum is 2^-24 below the normals; adding and taking away 2^52 quanta rounds to it in the nearest-even mode.
    int exponent = int(bits >> 52 & 0x7ff) - 1023;
    int quantum = exponent < -14 ? -24 : exponent - 10;
    double scaled = rint(size * ws_host_bits<double>((unsigned long long)(1023 - quantum) << 52));
    // A carry out of the fraction walks into the exponent, as it should; the 1024 of a normal's hidden bit is added by it too.
    unsigned code = quantum == -24 && exponent < -14 ? unsigned(scaled) : unsigned(scaled) + (unsigned(exponent + 14) << 10);
    return (unsigned short)(sign | code);
}
static inline float ws_host_bf16_value(unsigned short b) { return ws_host_bits<float>(unsigned(b) << 16); }
static inline unsigned short ws_host_bf16_bits(float value) {
    unsigned bits = ws_host_bits<unsigned>(value);
    if (value != value) return (unsigned short)(bits >> 16 | 0x40);
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
