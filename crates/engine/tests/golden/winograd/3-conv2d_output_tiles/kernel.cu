extern "C" __global__ void __launch_bounds__(64) conv2d_output_tiles(
    const unsigned long long weight_tiles,  // 128 x 3 texels, float RGBA
    const unsigned long long input_tiles,  // 28 x 32 texels, float RGBA
    const unsigned long long output_tiles)  // 28 x 48 texels, float RGBA
{
    const int gt = blockIdx.x;
    const int gu = blockIdx.y;
    const int gk = blockIdx.z;
    const int lt = threadIdx.x;
    const int lu = threadIdx.y;
    const int u0 = gu*8 + lu;
    const int k0 = gk;
    const int t0 = gt*8 + lt;
    const int at0 = t0*2;
    const int at1 = u0*2;
    const int at3 = u0*8;
    const int at5 = u0*3 + k0;
    if (t0 < 14) {
        ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc1 = ws_splat<4>(0.0f);
#pragma unroll 1
        for (int c0 = 0; c0 < 2; ++c0) {
            const int at2 = at1 + c0;
            const int at4 = at3 + c0*4;
            {
                const ws_vec<float, 4> input_tiles_0 = ws_texel<float>(input_tiles, at0, at2);
                const ws_vec<float, 4> input_tiles_1 = ws_texel<float>(input_tiles, at0 + 1, at2);
                const ws_vec<float, 4> weight_tiles_2 = ws_texel<float>(weight_tiles, at4, k0);
                const ws_vec<float, 4> weight_tiles_3 = ws_texel<float>(weight_tiles, at4 + 1, k0);
                const ws_vec<float, 4> weight_tiles_4 = ws_texel<float>(weight_tiles, at4 + 2, k0);
                const ws_vec<float, 4> weight_tiles_5 = ws_texel<float>(weight_tiles, at4 + 3, k0);
                acc0 = ws_fma(ws_splat<4>(input_tiles_0[0]), weight_tiles_2, acc0);
                acc1 = ws_fma(ws_splat<4>(input_tiles_1[0]), weight_tiles_2, acc1);
                acc0 = ws_fma(ws_splat<4>(input_tiles_0[1]), weight_tiles_3, acc0);
                acc1 = ws_fma(ws_splat<4>(input_tiles_1[1]), weight_tiles_3, acc1);
                acc0 = ws_fma(ws_splat<4>(input_tiles_0[2]), weight_tiles_4, acc0);
                acc1 = ws_fma(ws_splat<4>(input_tiles_1[2]), weight_tiles_4, acc1);
                acc0 = ws_fma(ws_splat<4>(input_tiles_0[3]), weight_tiles_5, acc0);
                acc1 = ws_fma(ws_splat<4>(input_tiles_1[3]), weight_tiles_5, acc1);
            }
        }
        {
            const ws_vec<float, 4> value = acc0;
            ws_write_texel<ws_rgba32>(output_tiles, at0, at5, value);
        }
        {
            const ws_vec<float, 4> value = acc1;
            ws_write_texel<ws_rgba32>(output_tiles, at0 + 1, at5, value);
        }
    }
}
