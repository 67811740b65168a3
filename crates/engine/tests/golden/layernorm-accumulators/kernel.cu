extern "C" __global__ void __launch_bounds__(4) layernorm(
    const float* __restrict__ input,  // [2100]
    const float* __restrict__ scale,  // [70]
    const float* __restrict__ bias,  // [70]
    float* __restrict__ output)  // [2100]
{
    const int gn = blockIdx.x;
    const int ln = threadIdx.x;
    const int n0 = gn*4 + ln;
    const int at0 = n0*70;
    if (n0 < 30) {
        float before0_0 = 0.0f;
        {
            ws_vec<float, 4> acc0_0 = ws_splat<4>(0.0f);
            ws_vec<float, 4> acc0_1 = ws_splat<4>(0.0f);
            ws_vec<float, 4> acc0_2 = ws_splat<4>(0.0f);
            ws_vec<float, 4> acc0_3 = ws_splat<4>(0.0f);
            float rest0 = 0.0f;
#pragma unroll 1
            for (int r10 = 0; r10 < 4; ++r10) {
                const int at1 = at0 + r10*16;
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + at1);
                    acc0_0 = acc0_0 + input_0;
                }
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at1 + 4));
                    acc0_1 = acc0_1 + input_0;
                }
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at1 + 8));
                    acc0_2 = acc0_2 + input_0;
                }
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at1 + 12));
                    acc0_3 = acc0_3 + input_0;
                }
            }
            {
                const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at0 + 64));
                acc0_0 = acc0_0 + input_0;
            }
            {
                const ws_vec<float, 2> input_0 = ws_load<2, 8>(input + (at0 + 68));
                {
                    const ws_vec<float, 2> value = input_0;
                    const float folded1 = value[0] + value[1];
                    rest0 = rest0 + folded1;
                }
            }
            {
                const ws_vec<float, 4> joined = acc0_0 + acc0_2 + (acc0_1 + acc0_3);
                const ws_vec<float, 2> folded2 = ws_slice<0, 2>(joined) + ws_slice<2, 2>(joined);
                const float folded1 = folded2[0] + folded2[1];
                before0_0 = (folded1 + rest0) * 0.014285714f;
            }
        }
        float before1_0 = 0.0f;
        {
            ws_vec<float, 4> acc0_0 = ws_splat<4>(0.0f);
            ws_vec<float, 4> acc0_1 = ws_splat<4>(0.0f);
            ws_vec<float, 4> acc0_2 = ws_splat<4>(0.0f);
            ws_vec<float, 4> acc0_3 = ws_splat<4>(0.0f);
            float rest0 = 0.0f;
#pragma unroll 1
            for (int r10 = 0; r10 < 4; ++r10) {
                const int at2 = at0 + r10*16;
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + at2);
                    acc0_0 = ws_fma(input_0 - before0_0, input_0 - before0_0, acc0_0);
                }
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at2 + 4));
                    acc0_1 = ws_fma(input_0 - before0_0, input_0 - before0_0, acc0_1);
                }
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at2 + 8));
                    acc0_2 = ws_fma(input_0 - before0_0, input_0 - before0_0, acc0_2);
                }
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at2 + 12));
                    acc0_3 = ws_fma(input_0 - before0_0, input_0 - before0_0, acc0_3);
                }
            }
            {
                const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at0 + 64));
                acc0_0 = ws_fma(input_0 - before0_0, input_0 - before0_0, acc0_0);
            }
            {
                const ws_vec<float, 2> input_0 = ws_load<2, 8>(input + (at0 + 68));
                {
                    const ws_vec<float, 2> value = (input_0 - before0_0) * (input_0 - before0_0);
                    const float folded1 = value[0] + value[1];
                    rest0 = rest0 + folded1;
                }
            }
            {
                const ws_vec<float, 4> joined = acc0_0 + acc0_2 + (acc0_1 + acc0_3);
                const ws_vec<float, 2> folded2 = ws_slice<0, 2>(joined) + ws_slice<2, 2>(joined);
                const float folded1 = folded2[0] + folded2[1];
                before1_0 = ws_rsqrt((folded1 + rest0) * 0.014285714f + 1e-5f);
            }
        }
#pragma unroll 1
        for (int r10 = 0; r10 < 4; ++r10) {
            const int at3 = at0 + r10*16;
            const int at4 = r10*16;
            {
                const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + at3);
                const ws_vec<float, 4> scale_1 = ws_load<4, 16>(scale + at4);
                const ws_vec<float, 4> bias_2 = ws_load<4, 16>(bias + at4);
                {
                    const ws_vec<float, 4> value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                    ws_store<ws_back, 8>(output + at3, value);
                }
            }
            {
                const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at3 + 4));
                const ws_vec<float, 4> scale_1 = ws_load<4, 16>(scale + (at4 + 4));
                const ws_vec<float, 4> bias_2 = ws_load<4, 16>(bias + (at4 + 4));
                {
                    const ws_vec<float, 4> value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                    ws_store<ws_back, 8>(output + (at3 + 4), value);
                }
            }
            {
                const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at3 + 8));
                const ws_vec<float, 4> scale_1 = ws_load<4, 16>(scale + (at4 + 8));
                const ws_vec<float, 4> bias_2 = ws_load<4, 16>(bias + (at4 + 8));
                {
                    const ws_vec<float, 4> value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                    ws_store<ws_back, 8>(output + (at3 + 8), value);
                }
            }
            {
                const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at3 + 12));
                const ws_vec<float, 4> scale_1 = ws_load<4, 16>(scale + (at4 + 12));
                const ws_vec<float, 4> bias_2 = ws_load<4, 16>(bias + (at4 + 12));
                {
                    const ws_vec<float, 4> value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                    ws_store<ws_back, 8>(output + (at3 + 12), value);
                }
            }
        }
        {
            const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + (at0 + 64));
            const ws_vec<float, 4> scale_1 = ws_load<4, 16>(scale + 64);
            const ws_vec<float, 4> bias_2 = ws_load<4, 16>(bias + 64);
            {
                const ws_vec<float, 4> value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                ws_store<ws_back, 8>(output + (at0 + 64), value);
            }
        }
        {
            const ws_vec<float, 2> input_0 = ws_load<2, 8>(input + (at0 + 68));
            const ws_vec<float, 2> scale_1 = ws_load<2, 8>(scale + 68);
            const ws_vec<float, 2> bias_2 = ws_load<2, 8>(bias + 68);
            {
                const ws_vec<float, 2> value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                ws_store<ws_back, 8>(output + (at0 + 68), value);
            }
        }
    }
}
