__kernel __attribute__((reqd_work_group_size(4, 16, 1)))
void dwconv2d(
    const __global float* restrict input,  // [1664]
    const __global float* restrict weight,  // [72]
    __global float* restrict output)  // [1664]
{
    const int gx = get_group_id(0);
    const int gy = get_group_id(1);
    const int gc = get_group_id(2);
    const int lx = get_local_id(0);
    const int ly = get_local_id(1);
    const int c0 = gc;
    const int y0 = gy*16 + ly;
    const int x0 = gx*4 + lx;
    const int at0 = c0*208 + y0*16 + x0*4;
    const int at1 = x0*4;
    const int at2 = c0*9;
    if (y0 < 13) {
        float4 acc0 = (float4)(0.0f);
        {
            float4 input_0 = (float4)(0.0f);
            if ((uint)(y0 - 1) < 13u) {
                const int t0 = at1 - 1;
                if (t0 >= 0) {
                    input_0 = vload4(0, input + ((ptrdiff_t)at0 - 17));
                } else {
                    const int t1 = at0 - 17;
                    if (t0 >= 0) input_0.s0 = input[t1];
                    input_0.s1 = input[(ptrdiff_t)t1 + 1];
                    input_0.s2 = input[(ptrdiff_t)t1 + 2];
                    input_0.s3 = input[(ptrdiff_t)t1 + 3];
                }
            }
            const float weight_1 = weight[at2];
            float4 input_2 = (float4)(0.0f);
            if ((uint)(y0 - 1) < 13u) input_2 = (*(const __global float4*)(input + ((ptrdiff_t)at0 - 16)));
            const float weight_3 = weight[(ptrdiff_t)at2 + 1];
            float4 input_4 = (float4)(0.0f);
            if ((uint)(y0 - 1) < 13u) {
                const int t2 = at1 + 1;
                if (t2 <= 12) {
                    input_4 = vload4(0, input + ((ptrdiff_t)at0 - 15));
                } else {
                    const int t3 = at0 - 15;
                    input_4.s0 = input[t3];
                    input_4.s1 = input[(ptrdiff_t)t3 + 1];
                    input_4.s2 = input[(ptrdiff_t)t3 + 2];
                    if (t2 + 3 < 16) input_4.s3 = input[(ptrdiff_t)t3 + 3];
                }
            }
            const float weight_5 = weight[(ptrdiff_t)at2 + 2];
            acc0 = fma(input_0, (float4)(weight_1), acc0);
            acc0 = fma(input_2, (float4)(weight_3), acc0);
            acc0 = fma(input_4, (float4)(weight_5), acc0);
        }
        {
            float4 input_0 = (float4)(0.0f);
            const int t4 = at1 - 1;
            if (t4 >= 0) {
                input_0 = vload4(0, input + ((ptrdiff_t)at0 - 1));
            } else {
                const int t5 = at0 - 1;
                if (t4 >= 0) input_0.s0 = input[t5];
                input_0.s1 = input[(ptrdiff_t)t5 + 1];
                input_0.s2 = input[(ptrdiff_t)t5 + 2];
                input_0.s3 = input[(ptrdiff_t)t5 + 3];
            }
            const float weight_1 = weight[(ptrdiff_t)at2 + 3];
            const float4 input_2 = (*(const __global float4*)(input + at0));
            const float weight_3 = weight[(ptrdiff_t)at2 + 4];
            float4 input_4 = (float4)(0.0f);
            const int t6 = at1 + 1;
            if (t6 <= 12) {
                input_4 = vload4(0, input + ((ptrdiff_t)at0 + 1));
            } else {
                const int t7 = at0 + 1;
                input_4.s0 = input[t7];
                input_4.s1 = input[(ptrdiff_t)t7 + 1];
                input_4.s2 = input[(ptrdiff_t)t7 + 2];
                if (t6 + 3 < 16) input_4.s3 = input[(ptrdiff_t)t7 + 3];
            }
            const float weight_5 = weight[(ptrdiff_t)at2 + 5];
            acc0 = fma(input_0, (float4)(weight_1), acc0);
            acc0 = fma(input_2, (float4)(weight_3), acc0);
            acc0 = fma(input_4, (float4)(weight_5), acc0);
        }
        {
            float4 input_0 = (float4)(0.0f);
            if (y0 + 1 < 13) {
                const int t8 = at1 - 1;
                if (t8 >= 0) {
                    input_0 = vload4(0, input + ((ptrdiff_t)at0 + 15));
                } else {
                    const int t9 = at0 + 15;
                    if (t8 >= 0) input_0.s0 = input[t9];
                    input_0.s1 = input[(ptrdiff_t)t9 + 1];
                    input_0.s2 = input[(ptrdiff_t)t9 + 2];
                    input_0.s3 = input[(ptrdiff_t)t9 + 3];
                }
            }
            const float weight_1 = weight[(ptrdiff_t)at2 + 6];
            float4 input_2 = (float4)(0.0f);
            if (y0 + 1 < 13) input_2 = (*(const __global float4*)(input + ((ptrdiff_t)at0 + 16)));
            const float weight_3 = weight[(ptrdiff_t)at2 + 7];
            float4 input_4 = (float4)(0.0f);
            if (y0 + 1 < 13) {
                const int t10 = at1 + 1;
                if (t10 <= 12) {
                    input_4 = vload4(0, input + ((ptrdiff_t)at0 + 17));
                } else {
                    const int t11 = at0 + 17;
                    input_4.s0 = input[t11];
                    input_4.s1 = input[(ptrdiff_t)t11 + 1];
                    input_4.s2 = input[(ptrdiff_t)t11 + 2];
                    if (t10 + 3 < 16) input_4.s3 = input[(ptrdiff_t)t11 + 3];
                }
            }
            const float weight_5 = weight[(ptrdiff_t)at2 + 8];
            acc0 = fma(input_0, (float4)(weight_1), acc0);
            acc0 = fma(input_2, (float4)(weight_3), acc0);
            acc0 = fma(input_4, (float4)(weight_5), acc0);
        }
        {
            const float4 value = acc0;
            *(__global float4*)(output + at0) = value;
        }
    }
}
