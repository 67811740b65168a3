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
