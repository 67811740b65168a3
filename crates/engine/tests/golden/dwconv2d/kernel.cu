extern "C" __global__ void __launch_bounds__(64) dwconv2d(
    const float* __restrict__ input,  // [1664]
    const float* __restrict__ weight,  // [72]
    float* __restrict__ output)  // [1664]
{
    const int gx = blockIdx.x;
    const int gy = blockIdx.y;
    const int gc = blockIdx.z;
    const int lx = threadIdx.x;
    const int ly = threadIdx.y;
    const int c0 = gc;
    const int y0 = gy*16 + ly;
    const int x0 = gx*4 + lx;
    const int at0 = c0*208 + y0*16 + x0*4;
    const int at1 = x0*4;
    const int at2 = c0*9;
    if (y0 < 13) {
        ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
        {
            ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
            if ((unsigned)(y0 - 1) < 13u) {
                const int t0 = at1 - 1;
                if (t0 >= 0) {
                    input_0 = ws_load<4, 4>(input + (at0 - 17));
                } else {
                    const int t1 = at0 - 17;
                    if (t0 >= 0) input_0[0] = input[t1];
                    input_0[1] = input[t1 + 1];
                    input_0[2] = input[t1 + 2];
                    input_0[3] = input[t1 + 3];
                }
            }
            const float weight_1 = weight[at2];
            ws_vec<float, 4> input_2 = ws_vec<float, 4>{};
            if ((unsigned)(y0 - 1) < 13u) input_2 = ws_load<4, 16>(input + (at0 - 16));
            const float weight_3 = weight[at2 + 1];
            ws_vec<float, 4> input_4 = ws_vec<float, 4>{};
            if ((unsigned)(y0 - 1) < 13u) {
                const int t2 = at1 + 1;
                if (t2 <= 12) {
                    input_4 = ws_load<4, 4>(input + (at0 - 15));
                } else {
                    const int t3 = at0 - 15;
                    input_4[0] = input[t3];
                    input_4[1] = input[t3 + 1];
                    input_4[2] = input[t3 + 2];
                    if (t2 + 3 < 16) input_4[3] = input[t3 + 3];
                }
            }
            const float weight_5 = weight[at2 + 2];
            acc0 = ws_fma(input_0, ws_splat<4>(weight_1), acc0);
            acc0 = ws_fma(input_2, ws_splat<4>(weight_3), acc0);
            acc0 = ws_fma(input_4, ws_splat<4>(weight_5), acc0);
        }
        {
            ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
            const int t4 = at1 - 1;
            if (t4 >= 0) {
                input_0 = ws_load<4, 4>(input + (at0 - 1));
            } else {
                const int t5 = at0 - 1;
                if (t4 >= 0) input_0[0] = input[t5];
                input_0[1] = input[t5 + 1];
                input_0[2] = input[t5 + 2];
                input_0[3] = input[t5 + 3];
            }
            const float weight_1 = weight[at2 + 3];
            const ws_vec<float, 4> input_2 = ws_load<4, 16>(input + at0);
            const float weight_3 = weight[at2 + 4];
            ws_vec<float, 4> input_4 = ws_vec<float, 4>{};
            const int t6 = at1 + 1;
            if (t6 <= 12) {
                input_4 = ws_load<4, 4>(input + (at0 + 1));
            } else {
                const int t7 = at0 + 1;
                input_4[0] = input[t7];
                input_4[1] = input[t7 + 1];
                input_4[2] = input[t7 + 2];
                if (t6 + 3 < 16) input_4[3] = input[t7 + 3];
            }
            const float weight_5 = weight[at2 + 5];
            acc0 = ws_fma(input_0, ws_splat<4>(weight_1), acc0);
            acc0 = ws_fma(input_2, ws_splat<4>(weight_3), acc0);
            acc0 = ws_fma(input_4, ws_splat<4>(weight_5), acc0);
        }
        {
            ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
            if (y0 + 1 < 13) {
                const int t8 = at1 - 1;
                if (t8 >= 0) {
                    input_0 = ws_load<4, 4>(input + (at0 + 15));
                } else {
                    const int t9 = at0 + 15;
                    if (t8 >= 0) input_0[0] = input[t9];
                    input_0[1] = input[t9 + 1];
                    input_0[2] = input[t9 + 2];
                    input_0[3] = input[t9 + 3];
                }
            }
            const float weight_1 = weight[at2 + 6];
            ws_vec<float, 4> input_2 = ws_vec<float, 4>{};
            if (y0 + 1 < 13) input_2 = ws_load<4, 16>(input + (at0 + 16));
            const float weight_3 = weight[at2 + 7];
            ws_vec<float, 4> input_4 = ws_vec<float, 4>{};
            if (y0 + 1 < 13) {
                const int t10 = at1 + 1;
                if (t10 <= 12) {
                    input_4 = ws_load<4, 4>(input + (at0 + 17));
                } else {
                    const int t11 = at0 + 17;
                    input_4[0] = input[t11];
                    input_4[1] = input[t11 + 1];
                    input_4[2] = input[t11 + 2];
                    if (t10 + 3 < 16) input_4[3] = input[t11 + 3];
                }
            }
            const float weight_5 = weight[at2 + 8];
            acc0 = ws_fma(input_0, ws_splat<4>(weight_1), acc0);
            acc0 = ws_fma(input_2, ws_splat<4>(weight_3), acc0);
            acc0 = ws_fma(input_4, ws_splat<4>(weight_5), acc0);
        }
        {
            const ws_vec<float, 4> value = acc0;
            ws_store<ws_back, 16>(output + at0, value);
        }
    }
}
