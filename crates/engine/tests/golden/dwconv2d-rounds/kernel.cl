__kernel __attribute__((reqd_work_group_size(4, 16, 1)))
void dwconv2d(
    const __global float* restrict input,  // [2080]
    const __global float* restrict weight,  // [72]
    __global float* restrict output)  // [2080]
{
    const int gx = get_group_id(0);
    const int gy = get_group_id(1);
    const int gc = get_group_id(2);
    const int lx = get_local_id(0);
    const int ly = get_local_id(1);
    const int c0 = gc;
    const int y0 = gy*16 + ly;
    const int at0 = c0*9;
    const int at1 = c0*260 + y0*20;
    if (y0 < 13) {
        const float kept0 = weight[at0];
        const float kept1 = weight[(ptrdiff_t)at0 + 1];
        const float kept2 = weight[(ptrdiff_t)at0 + 2];
        const float kept3 = weight[(ptrdiff_t)at0 + 3];
        const float kept4 = weight[(ptrdiff_t)at0 + 4];
        const float kept5 = weight[(ptrdiff_t)at0 + 5];
        const float kept6 = weight[(ptrdiff_t)at0 + 6];
        const float kept7 = weight[(ptrdiff_t)at0 + 7];
        const float kept8 = weight[(ptrdiff_t)at0 + 8];
#pragma unroll 1
        for (int rx = 0; rx < 2; ++rx) {
            const int x0 = (gx*2 + rx)*4 + lx;
            const int at2 = at1 + x0*2;
            const int at3 = x0*2;
            if (x0 < 10) {
                float2 acc0 = (float2)(0.0f);
                {
                    float2 input_0 = (float2)(0.0f);
                    if ((uint)(y0 - 1) < 13u) {
                        const int t0 = at3 - 1;
                        if (t0 >= 0 && t0 <= 18) {
                            input_0 = vload2(0, input + ((ptrdiff_t)at2 - 21));
                        } else {
                            const int t1 = at2 - 21;
                            if ((uint)t0 < 20u) input_0.s0 = input[t1];
                            if (t0 + 1 < 20) input_0.s1 = input[(ptrdiff_t)t1 + 1];
                        }
                    }
                    float2 input_2 = (float2)(0.0f);
                    if ((uint)(y0 - 1) < 13u) input_2 = (*(const __global float2*)(input + ((ptrdiff_t)at2 - 20)));
                    float2 input_4 = (float2)(0.0f);
                    if ((uint)(y0 - 1) < 13u) {
                        const int t2 = at3 + 1;
                        if (t2 <= 18) {
                            input_4 = vload2(0, input + ((ptrdiff_t)at2 - 19));
                        } else {
                            const int t3 = at2 - 19;
                            if (t2 < 20) input_4.s0 = input[t3];
                            if (t2 + 1 < 20) input_4.s1 = input[(ptrdiff_t)t3 + 1];
                        }
                    }
                    acc0 = fma(input_0, (float2)(kept0), acc0);
                    acc0 = fma(input_2, (float2)(kept1), acc0);
                    acc0 = fma(input_4, (float2)(kept2), acc0);
                }
                {
                    float2 input_0 = (float2)(0.0f);
                    const int t4 = at3 - 1;
                    if (t4 >= 0 && t4 <= 18) {
                        input_0 = vload2(0, input + ((ptrdiff_t)at2 - 1));
                    } else {
                        const int t5 = at2 - 1;
                        if ((uint)t4 < 20u) input_0.s0 = input[t5];
                        if (t4 + 1 < 20) input_0.s1 = input[(ptrdiff_t)t5 + 1];
                    }
                    const float2 input_2 = (*(const __global float2*)(input + at2));
                    float2 input_4 = (float2)(0.0f);
                    const int t6 = at3 + 1;
                    if (t6 <= 18) {
                        input_4 = vload2(0, input + ((ptrdiff_t)at2 + 1));
                    } else {
                        const int t7 = at2 + 1;
                        if (t6 < 20) input_4.s0 = input[t7];
                        if (t6 + 1 < 20) input_4.s1 = input[(ptrdiff_t)t7 + 1];
                    }
                    acc0 = fma(input_0, (float2)(kept3), acc0);
                    acc0 = fma(input_2, (float2)(kept4), acc0);
                    acc0 = fma(input_4, (float2)(kept5), acc0);
                }
                {
                    float2 input_0 = (float2)(0.0f);
                    if (y0 + 1 < 13) {
                        const int t8 = at3 - 1;
                        if (t8 >= 0 && t8 <= 18) {
                            input_0 = vload2(0, input + ((ptrdiff_t)at2 + 19));
                        } else {
                            const int t9 = at2 + 19;
                            if ((uint)t8 < 20u) input_0.s0 = input[t9];
                            if (t8 + 1 < 20) input_0.s1 = input[(ptrdiff_t)t9 + 1];
                        }
                    }
                    float2 input_2 = (float2)(0.0f);
                    if (y0 + 1 < 13) input_2 = (*(const __global float2*)(input + ((ptrdiff_t)at2 + 20)));
                    float2 input_4 = (float2)(0.0f);
                    if (y0 + 1 < 13) {
                        const int t10 = at3 + 1;
                        if (t10 <= 18) {
                            input_4 = vload2(0, input + ((ptrdiff_t)at2 + 21));
                        } else {
                            const int t11 = at2 + 21;
                            if (t10 < 20) input_4.s0 = input[t11];
                            if (t10 + 1 < 20) input_4.s1 = input[(ptrdiff_t)t11 + 1];
                        }
                    }
                    acc0 = fma(input_0, (float2)(kept6), acc0);
                    acc0 = fma(input_2, (float2)(kept7), acc0);
                    acc0 = fma(input_4, (float2)(kept8), acc0);
                }
                {
                    const float2 value = acc0;
                    *(__global float2*)(output + at2) = value;
                }
            }
        }
    }
}
