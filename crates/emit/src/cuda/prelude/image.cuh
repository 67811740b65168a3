#ifndef WARPSIGHT_HOST
// Coordinates count texels; a read lies in a texel's middle, where every filter gives that texel. Four components.
#define WS_TEXEL(T, type, c) \
    ws_fn void ws_read_texel(unsigned long long texture, int x, int y, T* out) \
    { \
        asm volatile("tex.2d.v4." type ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];" \
                     : "=" c(out[0]), "=" c(out[1]), "=" c(out[2]), "=" c(out[3]) \
                     : "l"(texture), "f"((float)x + 0.5f), "f"((float)y + 0.5f)); \
    } \
    ws_fn void ws_read_texel_1d(unsigned long long texture, int x, T* out) \
    { \
        asm volatile("tex.1d.v4." type ".f32 {%0, %1, %2, %3}, [%4, {%5}];" \
                     : "=" c(out[0]), "=" c(out[1]), "=" c(out[2]), "=" c(out[3]) \
                     : "l"(texture), "f"((float)x + 0.5f)); \
    } \
    ws_fn void ws_read_texel_buffer(unsigned long long texture, int x, T* out) \
    { \
        asm volatile("tex.1d.v4." type ".s32 {%0, %1, %2, %3}, [%4, {%5}];" \
                     : "=" c(out[0]), "=" c(out[1]), "=" c(out[2]), "=" c(out[3]) \
                     : "l"(texture), "r"(x)); \
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
template <int BYTES> ws_fn void ws_write_words_1d(unsigned long long surface, int x, const unsigned* words)
{
    if constexpr (BYTES == 16) {
        asm volatile("sust.b.1d.v4.b32.trap [%0, {%1}], {%2, %3, %4, %5};" ::"l"(surface), "r"(x * 16), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
    } else if constexpr (BYTES == 8) {
        asm volatile("sust.b.1d.v4.b16.trap [%0, {%1}], {%2, %3, %4, %5};" ::"l"(surface), "r"(x * 8), "h"((unsigned short)words[0]), "h"((unsigned short)words[1]), "h"((unsigned short)words[2]), "h"((unsigned short)words[3]) : "memory");
    } else {
        asm volatile("sust.b.1d.v4.b8.trap [%0, {%1}], {%2, %3, %4, %5};" ::"l"(surface), "r"(x * 4), "h"((unsigned short)words[0]), "h"((unsigned short)words[1]), "h"((unsigned short)words[2]), "h"((unsigned short)words[3]) : "memory");
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
template <class T> ws_fn ws_vec<T, 4> ws_texel_1d(unsigned long long texture, int x)
{
    ws_vec<T, 4> out;
    ws_read_texel_1d(texture, x, out.lanes);
    return out;
}
template <class T> ws_fn ws_vec<T, 4> ws_texel_buffer(unsigned long long texture, int x)
{
    ws_vec<T, 4> out;
    ws_read_texel_buffer(texture, x, out.lanes);
    return out;
}
// A component in the low bits of each word.
template <class Format, class T> ws_fn void ws_pack(ws_vec<T, 4> value, unsigned* words)
{
    for (int i = 0; i < 4; ++i) words[i] = Format::pack(value[i]);
}
template <class Format, class T> ws_fn void ws_write_texel(unsigned long long surface, int x, int y, ws_vec<T, 4> value)
{
    unsigned words[4];
    ws_pack<Format>(value, words);
    ws_write_words<Format::bytes>(surface, x, y, words);
}
template <class Format, class T> ws_fn void ws_write_texel_1d(unsigned long long surface, int x, ws_vec<T, 4> value)
{
    unsigned words[4];
    ws_pack<Format>(value, words);
    ws_write_words_1d<Format::bytes>(surface, x, words);
}
// A texel of linear memory, all its components at once; rows are `pitch` texels apart.
template <class Format, class T> ws_fn void ws_write_texel_rows(unsigned long long memory, int x, int y, int pitch, ws_vec<T, 4> value)
{
    constexpr int bits = Format::bytes * 2, each = 32 / bits;
    unsigned parts[4], words[4] = {};
    ws_pack<Format>(value, parts);
    for (int i = 0; i < 4; ++i) words[i / each] |= parts[i] << (i % each * bits);
    ws_store_words<ws_back, Format::bytes>((void*)(memory + (x + (long long)y * pitch) * Format::bytes), words);
}
template <class Format, class T> ws_fn void ws_write_texel_buffer(unsigned long long memory, int x, ws_vec<T, 4> value)
{
    ws_write_texel_rows<Format>(memory, x, 0, 0, value);
}
