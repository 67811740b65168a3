extern "C" __global__ void __launch_bounds__(64) dwconv2d(
    const float* __restrict__ input,  // [2080]
    const float* __restrict__ weight,  // [72]
    float* __restrict__ output)  // [2080]
{
    const int gx = blockIdx.x;
    const int gy = blockIdx.y;
    const int gc = blockIdx.z;
    const int lx = threadIdx.x;
    const int ly = threadIdx.y;
    const int c0 = gc;
    const int y0 = gy*16 + ly;
    const int at0 = c0*9;
    const int at1 = c0*260 + y0*20;
    if (y0 < 13) {
        const float kept0 = weight[at0];
        const float kept1 = weight[at0 + 1];
        const float kept2 = weight[at0 + 2];
        const float kept3 = weight[at0 + 3];
        const float kept4 = weight[at0 + 4];
        const float kept5 = weight[at0 + 5];
        const float kept6 = weight[at0 + 6];
        const float kept7 = weight[at0 + 7];
        const float kept8 = weight[at0 + 8];
#pragma unroll 1
        for (int rx = 0; rx < 2; ++rx) {
            const int x0 = (gx*2 + rx)*4 + lx;
            const int at2 = at1 + x0*2;
            const int at3 = x0*2;
            if (x0 < 10) {
                ws_vec<float, 2> acc0 = ws_splat<2>(0.0f);
                {
                    ws_vec<float, 2> input_0 = ws_vec<float, 2>{};
                    if ((unsigned)(y0 - 1) < 13u) {
                        const int t0 = at3 - 1;
                        if (t0 >= 0 && t0 <= 18) {
                            input_0 = ws_load<2, 4>(input + (at2 - 21));
                        } else {
                            const int t1 = at2 - 21;
                            if ((unsigned)t0 < 20u) input_0[0] = input[t1];
                            if (t0 + 1 < 20) input_0[1] = input[t1 + 1];
                        }
                    }
                    ws_vec<float, 2> input_2 = ws_vec<float, 2>{};
                    if ((unsigned)(y0 - 1) < 13u) input_2 = ws_load<2, 8>(input + (at2 - 20));
                    ws_vec<float, 2> input_4 = ws_vec<float, 2>{};
                    if ((unsigned)(y0 - 1) < 13u) {
                        const int t2 = at3 + 1;
                        if (t2 <= 18) {
                            input_4 = ws_load<2, 4>(input + (at2 - 19));
                        } else {
                            const int t3 = at2 - 19;
                            if (t2 < 20) input_4[0] = input[t3];
                            if (t2 + 1 < 20) input_4[1] = input[t3 + 1];
                        }
                    }
                    acc0 = ws_fma(input_0, ws_splat<2>(kept0), acc0);
                    acc0 = ws_fma(input_2, ws_splat<2>(kept1), acc0);
                    acc0 = ws_fma(input_4, ws_splat<2>(kept2), acc0);
                }
                {
                    ws_vec<float, 2> input_0 = ws_vec<float, 2>{};
                    const int t4 = at3 - 1;
                    if (t4 >= 0 && t4 <= 18) {
                        input_0 = ws_load<2, 4>(input + (at2 - 1));
                    } else {
                        const int t5 = at2 - 1;
                        if ((unsigned)t4 < 20u) input_0[0] = input[t5];
                        if (t4 + 1 < 20) input_0[1] = input[t5 + 1];
                    }
                    const ws_vec<float, 2> input_2 = ws_load<2, 8>(input + at2);
                    ws_vec<float, 2> input_4 = ws_vec<float, 2>{};
                    const int t6 = at3 + 1;
                    if (t6 <= 18) {
                        input_4 = ws_load<2, 4>(input + (at2 + 1));
                    } else {
                        const int t7 = at2 + 1;
                        if (t6 < 20) input_4[0] = input[t7];
                        if (t6 + 1 < 20) input_4[1] = input[t7 + 1];
                    }
                    acc0 = ws_fma(input_0, ws_splat<2>(kept3), acc0);
                    acc0 = ws_fma(input_2, ws_splat<2>(kept4), acc0);
                    acc0 = ws_fma(input_4, ws_splat<2>(kept5), acc0);
                }
                {
                    ws_vec<float, 2> input_0 = ws_vec<float, 2>{};
                    if (y0 + 1 < 13) {
                        const int t8 = at3 - 1;
                        if (t8 >= 0 && t8 <= 18) {
                            input_0 = ws_load<2, 4>(input + (at2 + 19));
                        } else {
                            const int t9 = at2 + 19;
                            if ((unsigned)t8 < 20u) input_0[0] = input[t9];
                            if (t8 + 1 < 20) input_0[1] = input[t9 + 1];
                        }
                    }
                    ws_vec<float, 2> input_2 = ws_vec<float, 2>{};
                    if (y0 + 1 < 13) input_2 = ws_load<2, 8>(input + (at2 + 20));
                    ws_vec<float, 2> input_4 = ws_vec<float, 2>{};
                    if (y0 + 1 < 13) {
                        const int t10 = at3 + 1;
                        if (t10 <= 18) {
                            input_4 = ws_load<2, 4>(input + (at2 + 21));
                        } else {
                            const int t11 = at2 + 21;
                            if (t10 < 20) input_4[0] = input[t11];
                            if (t10 + 1 < 20) input_4[1] = input[t11 + 1];
                        }
                    }
                    acc0 = ws_fma(input_0, ws_splat<2>(kept6), acc0);
                    acc0 = ws_fma(input_2, ws_splat<2>(kept7), acc0);
                    acc0 = ws_fma(input_4, ws_splat<2>(kept8), acc0);
                }
                {
                    const ws_vec<float, 2> value = acc0;
                    ws_store<ws_back, 8>(output + at2, value);
                }
            }
        }
    }
}
