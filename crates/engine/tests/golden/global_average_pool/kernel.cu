extern "C" __global__ void __launch_bounds__(4) global_average_pool(
    const unsigned long long input,  // 7 x 28 texels, float RGBA
    const unsigned long long output)  // 1 x 4 texels, float RGBA
{
    const int gc = blockIdx.x;
    const int lc = threadIdx.x;
    const int c0 = gc*4 + lc;
    ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
    const int at0 = c0*7;
#pragma unroll 1
    for (int r20 = 0; r20 < 7; ++r20) {
        const int at1 = at0 + r20;
#pragma unroll 1
        for (int r30 = 0; r30 < 7; ++r30) {
            {
                const ws_vec<float, 4> input_0 = ws_texel<float>(input, r30, at1);
                acc0 = acc0 + input_0;
            }
        }
    }
    {
        const ws_vec<float, 4> value = acc0 * 0.020408163f;
        ws_write_texel<ws_rgba32>(output, 0, c0, value);
    }
}
