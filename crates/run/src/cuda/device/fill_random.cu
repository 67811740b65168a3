// Element i of an array is init::random(seed, i), rounded to a float type; times 2^20, towards zero, for integers.
// kind: 0 f16, 1 bf16, 2 f32, 3 f64, 4 32-bit integers, 5 64-bit integers.

typedef unsigned long long u64;

static __device__ u64 mix(u64 z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

// m / 2^23 as a half, rounded to nearest even; |m| is at most 2^23.
static __device__ unsigned short half_bits(int m)
{
    unsigned sign = m < 0 ? 0x8000u : 0u;
    unsigned a = m < 0 ? (unsigned)-m : (unsigned)m;
    if (a < 512) return (unsigned short)(sign | (2 * a)); // below 2^-14: steps of 2^-24
    int top = 9;
    while (a >> (top + 1)) ++top;
    unsigned q;
    if (top > 10) {
        int drop = top - 10;
        unsigned rest = a & ((1u << drop) - 1), middle = 1u << (drop - 1);
        q = a >> drop;
        if (rest > middle || (rest == middle && (q & 1))) ++q;
    } else {
        q = a << (10 - top);
    }
    // A carry out of q raises the exponent by itself.
    return (unsigned short)(sign | (((unsigned)(top - 23 + 15) << 10) + (q - 1024)));
}

static __device__ unsigned short bfloat_bits(float value)
{
    union { float f; unsigned u; } bits;
    bits.f = value;
    return (unsigned short)((bits.u + 0x7fffu + ((bits.u >> 16) & 1)) >> 16);
}

extern "C" __global__ void __launch_bounds__(256)
warpsight_fill_random(void *out, int count_low, int count_high, int seed_low, int seed_high, int kind)
{
    u64 count = (u64)(unsigned)count_high << 32 | (unsigned)count_low;
    u64 seed = (u64)(unsigned)seed_high << 32 | (unsigned)seed_low;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
        u64 bits = mix(seed ^ mix(i + 0x9e3779b97f4a7c15ULL));
        int m = (int)(bits >> 40) - (1 << 23);
        switch (kind) {
        case 0: ((unsigned short *)out)[i] = half_bits(m); break;
        case 1: ((unsigned short *)out)[i] = bfloat_bits((float)m * (1.0f / 8388608.0f)); break;
        case 2: ((float *)out)[i] = (float)m * (1.0f / 8388608.0f); break;
        case 3: ((double *)out)[i] = (double)m * (1.0 / 8388608.0); break;
        case 4: ((int *)out)[i] = m / 8; break;
        default: ((long long *)out)[i] = m / 8; break;
        }
    }
}
