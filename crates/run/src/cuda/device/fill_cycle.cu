// Slot i of a cycle holds init::successor(i, slots) * stride; what lies between slots was set to 0 before.

extern "C" __global__ void __launch_bounds__(256)
warpsight_fill_cycle(unsigned *out, int slots, int stride)
{
    unsigned count = (unsigned)slots, step = (unsigned)stride;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (unsigned long long)gridDim.x * blockDim.x) {
        unsigned next = ((unsigned)i * 0x915f77f5u + 0x6d2b79f5u) & (count - 1);
        out[i * step] = next * step;
    }
}
