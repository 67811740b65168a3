extern "C" __global__ void __launch_bounds__(8) softmax_sum(
    const float* __restrict__ input,  // [300]
    const float* __restrict__ maximum,  // [30]
    float* __restrict__ inverse_total)  // [30]
{
    const int gn = blockIdx.x;
    const int ln = threadIdx.x;
    const int n0 = gn*8 + ln;
    const int at0 = n0*10;
    if (n0 < 30) {
        float acc0 = 0.0f;
#pragma unroll 1
        for (int r10 = 0; r10 < 5; ++r10) {
            const int at1 = at0 + r10*2;
            {
                const float input_0 = input[at1];
                const float maximum_1 = maximum[n0];
                acc0 = acc0 + ws_exp(input_0 - maximum_1);
            }
            {
                const float input_0 = input[at1 + 1];
                const float maximum_1 = maximum[n0];
                acc0 = acc0 + ws_exp(input_0 - maximum_1);
            }
        }
        {
            const float value = 1.0f / acc0;
            inverse_total[n0] = value;
        }
    }
}
