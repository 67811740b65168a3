extern "C" __global__ void __launch_bounds__(8) softmax_max(
    const float* __restrict__ input,  // [300]
    float* __restrict__ maximum)  // [30]
{
    const int gn = blockIdx.x;
    const int ln = threadIdx.x;
    const int n0 = gn*8 + ln;
    const int at0 = n0*10;
    if (n0 < 30) {
        float acc0 = ws_bits<float>(0xff800000u);
#pragma unroll 1
        for (int r10 = 0; r10 < 5; ++r10) {
            const int at1 = at0 + r10*2;
            {
                const float input_0 = input[at1];
                acc0 = ws_max(acc0, input_0);
            }
            {
                const float input_0 = input[at1 + 1];
                acc0 = ws_max(acc0, input_0);
            }
        }
        {
            const float value = acc0;
            maximum[n0] = value;
        }
    }
}
