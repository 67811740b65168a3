extern "C" __global__ void __launch_bounds__(64) conv2d(
    const unsigned long long input,  // 9 x 28 texels, half RGBA
    const unsigned long long weight,  // 16 x 6 texels, half RGBA
    const unsigned long long output)  // 9 x 42 texels, half RGBA
{
    const int gx = blockIdx.x;
    const int gk = blockIdx.y;
    const int gy = blockIdx.z;
    const int lx = threadIdx.x;
    const int lk = threadIdx.y;
    const int k0 = gk*8 + lk;
    const int y0 = gy;
    const int x0 = gx*8 + lx;
    const int at0 = x0*2;
    const int at3 = k0*7 + y0;
    if (k0 < 6 && x0 < 5) {
        ws_vec<ws_real16, 4> acc0 = ws_splat<4>(ws_half_of(0x0000));
        ws_vec<ws_real16, 4> acc1 = ws_splat<4>(ws_half_of(0x0000));
        if (at0 + 1 <= 8) {
#pragma unroll 1
            for (int c0 = 0; c0 < 4; ++c0) {
                const int at1 = y0 + c0*7;
                const int at2 = c0*4;
                {
                    const ws_vec<ws_real16, 4> input_0 = ws_cast<ws_real16>(ws_texel<float>(input, at0, at1));
                    const ws_vec<ws_real16, 4> input_1 = ws_cast<ws_real16>(ws_texel<float>(input, at0 + 1, at1));
                    const ws_vec<ws_real16, 4> weight_2 = ws_cast<ws_real16>(ws_texel<float>(weight, at2, k0));
                    const ws_vec<ws_real16, 4> weight_3 = ws_cast<ws_real16>(ws_texel<float>(weight, at2 + 1, k0));
                    const ws_vec<ws_real16, 4> weight_4 = ws_cast<ws_real16>(ws_texel<float>(weight, at2 + 2, k0));
                    const ws_vec<ws_real16, 4> weight_5 = ws_cast<ws_real16>(ws_texel<float>(weight, at2 + 3, k0));
                    acc0 = ws_fma(ws_splat<4>(input_0[0]), weight_2, acc0);
                    acc1 = ws_fma(ws_splat<4>(input_1[0]), weight_2, acc1);
                    acc0 = ws_fma(ws_splat<4>(input_0[1]), weight_3, acc0);
                    acc1 = ws_fma(ws_splat<4>(input_1[1]), weight_3, acc1);
                    acc0 = ws_fma(ws_splat<4>(input_0[2]), weight_4, acc0);
                    acc1 = ws_fma(ws_splat<4>(input_1[2]), weight_4, acc1);
                    acc0 = ws_fma(ws_splat<4>(input_0[3]), weight_5, acc0);
                    acc1 = ws_fma(ws_splat<4>(input_1[3]), weight_5, acc1);
                }
            }
        } else {
#pragma unroll 1
            for (int c0 = 0; c0 < 4; ++c0) {
                const int at1 = y0 + c0*7;
                const int at2 = c0*4;
                {
                    const ws_vec<ws_real16, 4> input_0 = ws_cast<ws_real16>(ws_texel<float>(input, at0, at1));
                    ws_vec<ws_real16, 4> input_1 = ws_vec<ws_real16, 4>{};
                    if (at0 + 1 < 9) input_1 = ws_cast<ws_real16>(ws_texel<float>(input, at0 + 1, at1));
                    const ws_vec<ws_real16, 4> weight_2 = ws_cast<ws_real16>(ws_texel<float>(weight, at2, k0));
                    const ws_vec<ws_real16, 4> weight_3 = ws_cast<ws_real16>(ws_texel<float>(weight, at2 + 1, k0));
                    const ws_vec<ws_real16, 4> weight_4 = ws_cast<ws_real16>(ws_texel<float>(weight, at2 + 2, k0));
                    const ws_vec<ws_real16, 4> weight_5 = ws_cast<ws_real16>(ws_texel<float>(weight, at2 + 3, k0));
                    acc0 = ws_fma(ws_splat<4>(input_0[0]), weight_2, acc0);
                    acc1 = ws_fma(ws_splat<4>(input_1[0]), weight_2, acc1);
                    acc0 = ws_fma(ws_splat<4>(input_0[1]), weight_3, acc0);
                    acc1 = ws_fma(ws_splat<4>(input_1[1]), weight_3, acc1);
                    acc0 = ws_fma(ws_splat<4>(input_0[2]), weight_4, acc0);
                    acc1 = ws_fma(ws_splat<4>(input_1[2]), weight_4, acc1);
                    acc0 = ws_fma(ws_splat<4>(input_0[3]), weight_5, acc0);
                    acc1 = ws_fma(ws_splat<4>(input_1[3]), weight_5, acc1);
                }
            }
        }
        {
            const ws_vec<ws_real16, 4> value = acc0;
            ws_write_texel<ws_rgba16f>(output, at0, at3, ws_cast<float>(value));
        }
        {
            const ws_vec<ws_real16, 4> value = acc1;
            if (at0 + 1 < 9) ws_write_texel<ws_rgba16f>(output, at0 + 1, at3, ws_cast<float>(value));
        }
    }
}
