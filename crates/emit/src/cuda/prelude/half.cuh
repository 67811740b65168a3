// Half precision that is computed with: every result is rounded to nearest even once, special functions by way of float.
#ifndef WARPSIGHT_HOST
ws_fn unsigned short ws_f64_to_f16(double value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
    return bits;
}
#define WS_HALF(name, op) \
    ws_fn unsigned short ws_half_##name(unsigned short a, unsigned short b) \
    { \
        unsigned short c; \
        asm(op ".rn.f16 %0, %1, %2;" : "=h"(c) : "h"(a), "h"(b)); \
        return c; \
    } \
    ws_fn unsigned ws_halves_##name(unsigned a, unsigned b) \
    { \
        unsigned c; \
        asm(op ".rn.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b)); \
        return c; \
    }
WS_HALF(add, "add")
WS_HALF(sub, "sub")
WS_HALF(mul, "mul")
#undef WS_HALF
ws_fn unsigned short ws_half_fma(unsigned short a, unsigned short b, unsigned short c)
{
    unsigned short d;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(d) : "h"(a), "h"(b), "h"(c));
    return d;
}
ws_fn unsigned ws_halves_fma(unsigned a, unsigned b, unsigned c)
{
    unsigned d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
#endif
struct ws_real16 {
    unsigned short bits;
    ws_real16() = default;
    explicit ws_fn ws_real16(float value) : bits(ws_f32_to_f16(value)) {}
    explicit ws_fn ws_real16(double value) : bits(ws_f64_to_f16(value)) {}
    // Integers that float does not hold are infinite here.
    template <class T> explicit ws_fn ws_real16(T value) : bits(ws_f32_to_f16((float)value)) {}
    explicit ws_fn operator float() const { return ws_f16_to_f32(bits); }
    explicit ws_fn operator double() const { return ws_f16_to_f32(bits); }
};
ws_fn ws_real16 ws_half_of(unsigned short bits)
{
    ws_real16 value;
    value.bits = bits;
    return value;
}
ws_fn ws_real16 operator+(ws_real16 a, ws_real16 b) { return ws_half_of(ws_half_add(a.bits, b.bits)); }
ws_fn ws_real16 operator-(ws_real16 a, ws_real16 b) { return ws_half_of(ws_half_sub(a.bits, b.bits)); }
ws_fn ws_real16 operator*(ws_real16 a, ws_real16 b) { return ws_half_of(ws_half_mul(a.bits, b.bits)); }
ws_fn ws_real16 operator/(ws_real16 a, ws_real16 b) { return ws_real16((float)a / (float)b); }
ws_fn ws_real16 operator-(ws_real16 a) { return ws_half_of(a.bits ^ 0x8000); }
#define WS_COMPARE(op) ws_fn bool operator op(ws_real16 a, ws_real16 b) { return (float)a op (float)b; }
WS_COMPARE(<)
WS_COMPARE(<=)
WS_COMPARE(>)
WS_COMPARE(==)
WS_COMPARE(!=)
#undef WS_COMPARE
ws_fn ws_real16 ws_fma(ws_real16 a, ws_real16 b, ws_real16 c) { return ws_half_of(ws_half_fma(a.bits, b.bits, c.bits)); }
ws_fn ws_real16 ws_fmod(ws_real16 a, ws_real16 b) { return ws_real16(ws_fmod((float)a, (float)b)); }
#define WS_FUNCTION(name) ws_fn ws_real16 name(ws_real16 x) { return ws_real16(name((float)x)); }
WS_FUNCTION(ws_abs)
WS_FUNCTION(ws_floor)
WS_FUNCTION(ws_ceil)
WS_FUNCTION(ws_exp)
WS_FUNCTION(ws_log)
WS_FUNCTION(ws_sqrt)
WS_FUNCTION(ws_rsqrt)
WS_FUNCTION(ws_tanh)
WS_FUNCTION(ws_sin)
WS_FUNCTION(ws_cos)
WS_FUNCTION(ws_erf)
#undef WS_FUNCTION
template <class To> ws_fn To ws_cast(ws_real16 from) { return ws_cast<To>((float)from); }
ws_fn void ws_narrow(ws_real16& to, ws_real16 value) { to = value; }
#ifndef WARPSIGHT_HOST
// Two lanes at once, which is what the units are made for.
template <class F, class G, int N, class... Operands> ws_fn ws_vec<ws_real16, N> ws_in_pairs(F both, G one, Operands... operands)
{
    ws_vec<ws_real16, N> out;
    for (int i = 0; i + 1 < N; i += 2) {
        const unsigned pair = both(((unsigned)operands[i + 1].bits << 16 | operands[i].bits)...);
        out[i].bits = pair, out[i + 1].bits = pair >> 16;
    }
    if (N % 2) out[N - 1] = one(operands[N - 1]...);
    return out;
}
#define WS_PAIRS(op, name) \
    template <int N> ws_fn ws_vec<ws_real16, N> operator op(ws_vec<ws_real16, N> a, ws_vec<ws_real16, N> b) \
    { \
        auto both = [](unsigned x, unsigned y) { return ws_halves_##name(x, y); }; \
        auto one = [](ws_real16 x, ws_real16 y) { return x op y; }; \
        return ws_in_pairs<decltype(both), decltype(one), N>(both, one, a, b); \
    }
WS_PAIRS(+, add)
WS_PAIRS(-, sub)
WS_PAIRS(*, mul)
#undef WS_PAIRS
template <int N> ws_fn ws_vec<ws_real16, N> ws_fma(ws_vec<ws_real16, N> a, ws_vec<ws_real16, N> b, ws_vec<ws_real16, N> c)
{
    auto both = [](unsigned x, unsigned y, unsigned z) { return ws_halves_fma(x, y, z); };
    auto one = [](ws_real16 x, ws_real16 y, ws_real16 z) { return ws_fma(x, y, z); };
    return ws_in_pairs<decltype(both), decltype(one), N>(both, one, a, b, c);
}
#endif
