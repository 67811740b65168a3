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
