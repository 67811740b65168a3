// CUDA kernels as ordinary functions of the host: one thread after the other, so only for kernels whose threads never wait.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __shared__ static
#define __restrict__ __restrict
#define __launch_bounds__(threads)

struct Dim {
    unsigned x, y, z;
};
static Dim blockIdx, threadIdx;

inline float ws_rsqrt(float x) { return (float)(1.0 / sqrt((double)x)); }
inline double ws_rsqrt(double x) { return 1.0 / sqrt(x); }
inline float ws_f16_to_f32(unsigned short bits)
{
    _Float16 half;
    memcpy(&half, &bits, 2);
    return half;
}
inline unsigned short ws_f32_to_f16(float value)
{
    const _Float16 half = (_Float16)value;
    unsigned short bits;
    memcpy(&bits, &half, 2);
    return bits;
}
inline unsigned short ws_f32_to_bf16(float value)
{
    unsigned bits;
    memcpy(&bits, &value, 4);
    return value != value ? bits >> 16 | 64 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// A misaligned address would fault on a GPU.
inline void check(const void* at, int bytes)
{
    if ((size_t)at % bytes != 0) {
        fprintf(stderr, "%d bytes at a place that is no multiple of them\n", bytes);
        exit(1);
    }
}
template <int BYTES> void ws_load_words(const void* from, unsigned* words)
{
    check(from, BYTES);
    memcpy(words, from, BYTES);
}
template <int POLICY, int BYTES> void ws_store_words(void* to, const unsigned* words)
{
    check(to, BYTES);
    memcpy(to, words, BYTES);
}

// An image of four floats a texel; its handle is its address.
struct Image {
    int width, height, clamp;
    float* texels;
};
inline void ws_read_texel(unsigned long long handle, int x, int y, float* out)
{
    const Image& image = *(const Image*)handle;
    const int cx = x < 0 ? 0 : x < image.width ? x : image.width - 1, cy = y < 0 ? 0 : y < image.height ? y : image.height - 1;
    for (int i = 0; i < 4; ++i) out[i] = image.clamp || (cx == x && cy == y) ? image.texels[4 * (cy * image.width + cx) + i] : 0.0f;
}
template <int BYTES> void ws_write_words(unsigned long long handle, int x, int y, const unsigned* words)
{
    static_assert(BYTES == 16, "floats only");
    const Image& image = *(const Image*)handle;
    memcpy(image.texels + 4 * (y * image.width + x), words, BYTES);
}

template <int ORDER, int SCOPE, int SPACE, class T> T ws_atomic_add(T* at, T value)
{
    const T old = *at;
    *at = old + value;
    return old;
}
template <int ORDER, int SCOPE, int SPACE, class T> T ws_atomic_exchange(T* at, T value)
{
    const T old = *at;
    *at = value;
    return old;
}
template <int ORDER, int SCOPE, int SPACE, class T> void ws_atomic_store(T* at, T value) { *at = value; }
template <int ORDER, int SCOPE, int SPACE, class T> T ws_atomic_compare_exchange(T* at, T compare, T value)
{
    const T old = *at;
    if (old == compare) *at = value;
    return old;
}

// Memory as whatever the kernel takes it for.
struct Pointer {
    char* at;
    template <class T> operator T*() const { return (T*)at; }
};

// Files in arguments' order hold what memory holds before, and after.
inline char* memory(const char* path, long bytes)
{
    char* data = (char*)aligned_alloc(256, (bytes + 511) / 256 * 256);
    FILE* file = fopen(path, "rb");
    if (!file || fread(data, 1, bytes, file) != (size_t)bytes) exit(2);
    fclose(file);
    return data;
}
inline void keep(const char* path, const char* data, long bytes)
{
    FILE* file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != (size_t)bytes || fclose(file)) exit(3);
}
