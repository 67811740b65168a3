extern "C" __global__ void __launch_bounds__(16) multiply(
    const float* __restrict__ input,  // [2016]
    const float* __restrict__ gate,  // [16]
    float* __restrict__ output)  // [2016]
{
    const int gx = blockIdx.x;
    const int gc = blockIdx.y;
    const int gy = blockIdx.z;
    const int lc = threadIdx.x;
    const int c0 = gc*16 + lc;
    const int y0 = gy;
    const int x0 = gx;
    const int at0 = c0*126 + y0*14 + x0*2;
    {
        const ws_vec<float, 2> input_0 = ws_load<2, 8>(input + at0);
        const float gate_1 = gate[c0];
        const ws_vec<float, 2> value = input_0 * gate_1;
        ws_store<ws_back, 8>(output + at0, value);
    }
}
