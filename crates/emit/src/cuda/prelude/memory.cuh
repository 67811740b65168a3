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
