extern "C" __global__ void __launch_bounds__(64) dwconv2d(
    const unsigned long long input,  // 16 x 13 texels, float RGBA
    const float* __restrict__ weight,  // [36]
    const unsigned long long output)  // 16 x 13 texels, float RGBA
{
    const int gx = blockIdx.x;
    const int gy = blockIdx.y;
    const int gc = blockIdx.z;
    const int lx = threadIdx.x;
    const int ly = threadIdx.y;
    const int c0 = gc;
    const int y0 = gy*8 + ly;
    const int x0 = gx*8 + lx;
    const int at0 = c0*13 + y0;
    const int at1 = c0*4;
    if (y0 < 13) {
        ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
        {
            const ws_vec<float, 4> input_0 = ws_texel<float>(input, x0 - 1, at0 - 1);
            const ws_vec<float, 4> weight_1 = ws_load<4, 16>(weight + at1);
            const ws_vec<float, 4> input_2 = ws_texel<float>(input, x0, at0 - 1);
            const ws_vec<float, 4> weight_3 = ws_load<4, 16>(weight + (at1 + 4));
            const ws_vec<float, 4> input_4 = ws_texel<float>(input, x0 + 1, at0 - 1);
            const ws_vec<float, 4> weight_5 = ws_load<4, 16>(weight + (at1 + 8));
            acc0 = ws_fma(input_0, weight_1, acc0);
            acc0 = ws_fma(input_2, weight_3, acc0);
            acc0 = ws_fma(input_4, weight_5, acc0);
        }
        {
            const ws_vec<float, 4> input_0 = ws_texel<float>(input, x0 - 1, at0);
            const ws_vec<float, 4> weight_1 = ws_load<4, 16>(weight + (at1 + 12));
            const ws_vec<float, 4> input_2 = ws_texel<float>(input, x0, at0);
            const ws_vec<float, 4> weight_3 = ws_load<4, 16>(weight + (at1 + 16));
            const ws_vec<float, 4> input_4 = ws_texel<float>(input, x0 + 1, at0);
            const ws_vec<float, 4> weight_5 = ws_load<4, 16>(weight + (at1 + 20));
            acc0 = ws_fma(input_0, weight_1, acc0);
            acc0 = ws_fma(input_2, weight_3, acc0);
            acc0 = ws_fma(input_4, weight_5, acc0);
        }
        {
            const ws_vec<float, 4> input_0 = ws_texel<float>(input, x0 - 1, at0 + 1);
            const ws_vec<float, 4> weight_1 = ws_load<4, 16>(weight + (at1 + 24));
            const ws_vec<float, 4> input_2 = ws_texel<float>(input, x0, at0 + 1);
            const ws_vec<float, 4> weight_3 = ws_load<4, 16>(weight + (at1 + 28));
            const ws_vec<float, 4> input_4 = ws_texel<float>(input, x0 + 1, at0 + 1);
            const ws_vec<float, 4> weight_5 = ws_load<4, 16>(weight + (at1 + 32));
            acc0 = ws_fma(input_0, weight_1, acc0);
            acc0 = ws_fma(input_2, weight_3, acc0);
            acc0 = ws_fma(input_4, weight_5, acc0);
        }
        {
            const ws_vec<float, 4> value = acc0;
            ws_write_texel<ws_rgba32>(output, x0, at0, value);
        }
    }
}
