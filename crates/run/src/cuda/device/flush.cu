// Reads vectors, so that a cache holds them in place of lines that were written. What is stored depends on all of them, or the loads
// would be left out; that it is stored at all is as good as impossible.

struct __align__(16) Vector {
    unsigned x, y, z, w;
};

extern "C" __global__ void __launch_bounds__(256) warpsight_flush(const Vector *in, unsigned *out, int vectors)
{
    unsigned sum = 0x9e3779b9u;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < (unsigned)vectors; i += gridDim.x * blockDim.x) {
        Vector v = in[i];
        sum = (sum ^ v.x ^ v.y ^ v.z ^ v.w) * 0x85ebca6bu;
    }
    if (sum == 0x27d4eb2fu) out[0] = sum;
}
