extern "C" __global__ void __launch_bounds__(32) softmax(
    const float* __restrict__ input,  // [300]
    const float* __restrict__ maximum,  // [30]
    const float* __restrict__ inverse_total,  // [30]
    float* __restrict__ output)  // [300]
{
    const int gc = blockIdx.x;
    const int gn = blockIdx.y;
    const int ln = threadIdx.x;
    const int n0 = gn*32 + ln;
    const int c0 = gc;
    const int at0 = n0*10 + c0*2;
    if (n0 < 30) {
        {
            const ws_vec<float, 2> input_0 = ws_load<2, 8>(input + at0);
            const float maximum_1 = maximum[n0];
            const float inverse_total_2 = inverse_total[n0];
            const ws_vec<float, 2> value = ws_exp(input_0 - maximum_1) * inverse_total_2;
            ws_store<ws_back, 8>(output + at0, value);
        }
    }
}
