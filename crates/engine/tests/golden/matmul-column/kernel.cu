extern "C" __global__ void __launch_bounds__(64) matmul(
    const unsigned long long left,  // 8 x 24 texels, float RGBA
    const unsigned long long right,  // 10 x 32 texels, float RGBA
    const unsigned long long output)  // 10 x 24 texels, float RGBA
{
    const int gn = blockIdx.x;
    const int gm = blockIdx.y;
    const int ln = threadIdx.x;
    const int lm = threadIdx.y;
    const int m0 = gm*8 + lm;
    const int n0 = gn*8 + ln;
    const int at0 = m0*2;
    if (m0 < 12 && n0 < 10) {
        ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc1 = ws_splat<4>(0.0f);
#pragma unroll 1
        for (int k0 = 0; k0 < 8; ++k0) {
            const int at1 = k0*4;
            {
                const ws_vec<float, 4> left_0 = ws_texel<float>(left, k0, at0);
                const ws_vec<float, 4> left_1 = ws_texel<float>(left, k0, at0 + 1);
                const ws_vec<float, 4> right_2 = ws_texel<float>(right, n0, at1);
                const ws_vec<float, 4> right_3 = ws_texel<float>(right, n0, at1 + 1);
                const ws_vec<float, 4> right_4 = ws_texel<float>(right, n0, at1 + 2);
                const ws_vec<float, 4> right_5 = ws_texel<float>(right, n0, at1 + 3);
                acc0 = ws_fma(ws_splat<4>(left_0[0]), right_2, acc0);
                acc1 = ws_fma(ws_splat<4>(left_1[0]), right_2, acc1);
                acc0 = ws_fma(ws_splat<4>(left_0[1]), right_3, acc0);
                acc1 = ws_fma(ws_splat<4>(left_1[1]), right_3, acc1);
                acc0 = ws_fma(ws_splat<4>(left_0[2]), right_4, acc0);
                acc1 = ws_fma(ws_splat<4>(left_1[2]), right_4, acc1);
                acc0 = ws_fma(ws_splat<4>(left_0[3]), right_5, acc0);
                acc1 = ws_fma(ws_splat<4>(left_1[3]), right_5, acc1);
            }
        }
        {
            const ws_vec<float, 4> value = acc0;
            ws_write_texel<ws_rgba32>(output, n0, at0, value);
        }
        {
            const ws_vec<float, 4> value = acc1;
            ws_write_texel<ws_rgba32>(output, n0, at0 + 1, value);
        }
    }
}
