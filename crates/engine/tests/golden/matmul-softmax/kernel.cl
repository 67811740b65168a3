#pragma OPENCL FP_CONTRACT OFF

float ws_max_float(float a, float b)
{
    return b > a || isnan(b) ? b : a;
}

float2 ws_max_float2(float2 a, float2 b)
{
    return b == b ? (b > a ? b : a) : b;
}

float4 ws_max_float4(float4 a, float4 b)
{
    return b == b ? (b > a ? b : a) : b;
}

__kernel __attribute__((reqd_work_group_size(4, 4, 1)))
void matmul_softmax(
    const __global float* restrict left,  // [120]
    const __global float* restrict right,  // [740]
    __global float* restrict output_after)  // [222]
{
    const int gn = get_group_id(0);
    const int gm = get_group_id(1);
    const int ln = get_local_id(0);
    const int lm = get_local_id(1);
    __local float partial_local[1 * 4 * 4 * 1];
    const int m0 = gm*4 + lm;
    const int n0 = gn*4 + ln;
    float4 acc0 = (float4)(0.0f);
    float4 acc1 = (float4)(0.0f);
    float4 acc2 = (float4)(0.0f);
    const int at0 = m0*20;
    const int at2 = n0*12;
    if (m0 <= 5 && at2 + 8 <= 33) {
#pragma unroll 1
        for (int k0 = 0; k0 < 5; ++k0) {
            const int at1 = at0 + k0*4;
            const int at3 = at2 + k0*148;
            {
                const float left_0 = left[at1];
                const float4 right_1 = (*(const __global float4*)(right + at3));
                const float4 right_2 = (*(const __global float4*)(right + ((ptrdiff_t)at3 + 4)));
                const float4 right_3 = (*(const __global float4*)(right + ((ptrdiff_t)at3 + 8)));
                acc0 = fma((float4)(left_0), right_1, acc0);
                acc1 = fma((float4)(left_0), right_2, acc1);
                acc2 = fma((float4)(left_0), right_3, acc2);
            }
            {
                const float left_0 = left[(ptrdiff_t)at1 + 1];
                const float4 right_1 = vload4(0, right + ((ptrdiff_t)at3 + 37));
                const float4 right_2 = vload4(0, right + ((ptrdiff_t)at3 + 41));
                const float4 right_3 = vload4(0, right + ((ptrdiff_t)at3 + 45));
                acc0 = fma((float4)(left_0), right_1, acc0);
                acc1 = fma((float4)(left_0), right_2, acc1);
                acc2 = fma((float4)(left_0), right_3, acc2);
            }
            {
                const float left_0 = left[(ptrdiff_t)at1 + 2];
                const float4 right_1 = vload4(0, right + ((ptrdiff_t)at3 + 74));
                const float4 right_2 = vload4(0, right + ((ptrdiff_t)at3 + 78));
                const float4 right_3 = vload4(0, right + ((ptrdiff_t)at3 + 82));
                acc0 = fma((float4)(left_0), right_1, acc0);
                acc1 = fma((float4)(left_0), right_2, acc1);
                acc2 = fma((float4)(left_0), right_3, acc2);
            }
            {
                const float left_0 = left[(ptrdiff_t)at1 + 3];
                const float4 right_1 = vload4(0, right + ((ptrdiff_t)at3 + 111));
                const float4 right_2 = vload4(0, right + ((ptrdiff_t)at3 + 115));
                const float4 right_3 = vload4(0, right + ((ptrdiff_t)at3 + 119));
                acc0 = fma((float4)(left_0), right_1, acc0);
                acc1 = fma((float4)(left_0), right_2, acc1);
                acc2 = fma((float4)(left_0), right_3, acc2);
            }
        }
    } else {
#pragma unroll 1
        for (int k0 = 0; k0 < 5; ++k0) {
            const int at1 = at0 + k0*4;
            const int at3 = at2 + k0*148;
            {
                const float left_0 = (m0 < 6) ? left[at1] : 0.0f;
                float4 right_1 = (float4)(0.0f);
                if (at2 <= 33) {
                    right_1 = (*(const __global float4*)(right + at3));
                } else {
                    right_1.s0 = right[at3];
                    if (at2 + 1 < 37) right_1.s1 = right[(ptrdiff_t)at3 + 1];
                    if (at2 + 2 < 37) right_1.s2 = right[(ptrdiff_t)at3 + 2];
                    if (at2 + 3 < 37) right_1.s3 = right[(ptrdiff_t)at3 + 3];
                }
                float4 right_2 = (float4)(0.0f);
                const int t0 = at2 + 4;
                if (t0 <= 33) {
                    right_2 = (*(const __global float4*)(right + ((ptrdiff_t)at3 + 4)));
                } else {
                    const int t1 = at3 + 4;
                    if (t0 < 37) right_2.s0 = right[t1];
                    if (t0 + 1 < 37) right_2.s1 = right[(ptrdiff_t)t1 + 1];
                    if (t0 + 2 < 37) right_2.s2 = right[(ptrdiff_t)t1 + 2];
                    if (t0 + 3 < 37) right_2.s3 = right[(ptrdiff_t)t1 + 3];
                }
                float4 right_3 = (float4)(0.0f);
                const int t2 = at2 + 8;
                if (t2 <= 33) {
                    right_3 = (*(const __global float4*)(right + ((ptrdiff_t)at3 + 8)));
                } else {
                    const int t3 = at3 + 8;
                    if (t2 < 37) right_3.s0 = right[t3];
                    if (t2 + 1 < 37) right_3.s1 = right[(ptrdiff_t)t3 + 1];
                    if (t2 + 2 < 37) right_3.s2 = right[(ptrdiff_t)t3 + 2];
                    if (t2 + 3 < 37) right_3.s3 = right[(ptrdiff_t)t3 + 3];
                }
                acc0 = fma((float4)(left_0), right_1, acc0);
                acc1 = fma((float4)(left_0), right_2, acc1);
                acc2 = fma((float4)(left_0), right_3, acc2);
            }
            {
                const float left_0 = (m0 < 6) ? left[(ptrdiff_t)at1 + 1] : 0.0f;
                float4 right_1 = (float4)(0.0f);
                if (at2 <= 33) {
                    right_1 = vload4(0, right + ((ptrdiff_t)at3 + 37));
                } else {
                    const int t4 = at3 + 37;
                    right_1.s0 = right[t4];
                    if (at2 + 1 < 37) right_1.s1 = right[(ptrdiff_t)t4 + 1];
                    if (at2 + 2 < 37) right_1.s2 = right[(ptrdiff_t)t4 + 2];
                    if (at2 + 3 < 37) right_1.s3 = right[(ptrdiff_t)t4 + 3];
                }
                float4 right_2 = (float4)(0.0f);
                const int t5 = at2 + 4;
                if (t5 <= 33) {
                    right_2 = vload4(0, right + ((ptrdiff_t)at3 + 41));
                } else {
                    const int t6 = at3 + 41;
                    if (t5 < 37) right_2.s0 = right[t6];
                    if (t5 + 1 < 37) right_2.s1 = right[(ptrdiff_t)t6 + 1];
                    if (t5 + 2 < 37) right_2.s2 = right[(ptrdiff_t)t6 + 2];
                    if (t5 + 3 < 37) right_2.s3 = right[(ptrdiff_t)t6 + 3];
                }
                float4 right_3 = (float4)(0.0f);
                const int t7 = at2 + 8;
                if (t7 <= 33) {
                    right_3 = vload4(0, right + ((ptrdiff_t)at3 + 45));
                } else {
                    const int t8 = at3 + 45;
                    if (t7 < 37) right_3.s0 = right[t8];
                    if (t7 + 1 < 37) right_3.s1 = right[(ptrdiff_t)t8 + 1];
                    if (t7 + 2 < 37) right_3.s2 = right[(ptrdiff_t)t8 + 2];
                    if (t7 + 3 < 37) right_3.s3 = right[(ptrdiff_t)t8 + 3];
                }
                acc0 = fma((float4)(left_0), right_1, acc0);
                acc1 = fma((float4)(left_0), right_2, acc1);
                acc2 = fma((float4)(left_0), right_3, acc2);
            }
            {
                const float left_0 = (m0 < 6) ? left[(ptrdiff_t)at1 + 2] : 0.0f;
                float4 right_1 = (float4)(0.0f);
                if (at2 <= 33) {
                    right_1 = vload4(0, right + ((ptrdiff_t)at3 + 74));
                } else {
                    const int t9 = at3 + 74;
                    right_1.s0 = right[t9];
                    if (at2 + 1 < 37) right_1.s1 = right[(ptrdiff_t)t9 + 1];
                    if (at2 + 2 < 37) right_1.s2 = right[(ptrdiff_t)t9 + 2];
                    if (at2 + 3 < 37) right_1.s3 = right[(ptrdiff_t)t9 + 3];
                }
                float4 right_2 = (float4)(0.0f);
                const int t10 = at2 + 4;
                if (t10 <= 33) {
                    right_2 = vload4(0, right + ((ptrdiff_t)at3 + 78));
                } else {
                    const int t11 = at3 + 78;
                    if (t10 < 37) right_2.s0 = right[t11];
                    if (t10 + 1 < 37) right_2.s1 = right[(ptrdiff_t)t11 + 1];
                    if (t10 + 2 < 37) right_2.s2 = right[(ptrdiff_t)t11 + 2];
                    if (t10 + 3 < 37) right_2.s3 = right[(ptrdiff_t)t11 + 3];
                }
                float4 right_3 = (float4)(0.0f);
                const int t12 = at2 + 8;
                if (t12 <= 33) {
                    right_3 = vload4(0, right + ((ptrdiff_t)at3 + 82));
                } else {
                    const int t13 = at3 + 82;
                    if (t12 < 37) right_3.s0 = right[t13];
                    if (t12 + 1 < 37) right_3.s1 = right[(ptrdiff_t)t13 + 1];
                    if (t12 + 2 < 37) right_3.s2 = right[(ptrdiff_t)t13 + 2];
                    if (t12 + 3 < 37) right_3.s3 = right[(ptrdiff_t)t13 + 3];
                }
                acc0 = fma((float4)(left_0), right_1, acc0);
                acc1 = fma((float4)(left_0), right_2, acc1);
                acc2 = fma((float4)(left_0), right_3, acc2);
            }
            {
                const float left_0 = (m0 < 6) ? left[(ptrdiff_t)at1 + 3] : 0.0f;
                float4 right_1 = (float4)(0.0f);
                if (at2 <= 33) {
                    right_1 = vload4(0, right + ((ptrdiff_t)at3 + 111));
                } else {
                    const int t14 = at3 + 111;
                    right_1.s0 = right[t14];
                    if (at2 + 1 < 37) right_1.s1 = right[(ptrdiff_t)t14 + 1];
                    if (at2 + 2 < 37) right_1.s2 = right[(ptrdiff_t)t14 + 2];
                    if (at2 + 3 < 37) right_1.s3 = right[(ptrdiff_t)t14 + 3];
                }
                float4 right_2 = (float4)(0.0f);
                const int t15 = at2 + 4;
                if (t15 <= 33) {
                    right_2 = vload4(0, right + ((ptrdiff_t)at3 + 115));
                } else {
                    const int t16 = at3 + 115;
                    if (t15 < 37) right_2.s0 = right[t16];
                    if (t15 + 1 < 37) right_2.s1 = right[(ptrdiff_t)t16 + 1];
                    if (t15 + 2 < 37) right_2.s2 = right[(ptrdiff_t)t16 + 2];
                    if (t15 + 3 < 37) right_2.s3 = right[(ptrdiff_t)t16 + 3];
                }
                float4 right_3 = (float4)(0.0f);
                const int t17 = at2 + 8;
                if (t17 <= 33) {
                    right_3 = vload4(0, right + ((ptrdiff_t)at3 + 119));
                } else {
                    const int t18 = at3 + 119;
                    if (t17 < 37) right_3.s0 = right[t18];
                    if (t17 + 1 < 37) right_3.s1 = right[(ptrdiff_t)t18 + 1];
                    if (t17 + 2 < 37) right_3.s2 = right[(ptrdiff_t)t18 + 2];
                    if (t17 + 3 < 37) right_3.s3 = right[(ptrdiff_t)t18 + 3];
                }
                acc0 = fma((float4)(left_0), right_1, acc0);
                acc1 = fma((float4)(left_0), right_2, acc1);
                acc2 = fma((float4)(left_0), right_3, acc2);
            }
        }
    }
    float before0_0 = -INFINITY;
    {
        float4 part0 = (float4)(-INFINITY);
        {
            const float4 value = acc0;
            if (n0 < 3) {
                part0 = ws_max_float4(part0, value);
            } else if (n0 < 4) {
                part0 = ws_max_float4(part0, (float4)(value.s0, -INFINITY, -INFINITY, -INFINITY));
            }
        }
        if (n0 < 3) {
            part0 = ws_max_float4(part0, acc1);
        }
        if (n0 < 3) {
            part0 = ws_max_float4(part0, acc2);
        }
        {
            const float2 folded2 = ws_max_float2(part0.s01, part0.s23);
            const float folded1 = ws_max_float(folded2.s0, folded2.s1);
            partial_local[lm*4 + ln] = folded1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (ln < 2) {
            partial_local[lm*4 + ln] = ws_max_float(partial_local[lm*4 + ln], partial_local[lm*4 + ln + 2]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (ln < 1) {
            partial_local[lm*4 + ln] = ws_max_float(partial_local[lm*4 + ln], partial_local[lm*4 + ln + 1]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        {
            const float total = partial_local[lm*4];
            before0_0 = total;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float before1_0 = 0.0f;
    {
        float4 part0 = (float4)(0.0f);
        acc0 = exp(acc0 - before0_0);
        {
            const float4 value = acc0;
            if (n0 < 3) {
                part0 = part0 + value;
            } else if (n0 < 4) {
                part0 = part0 + (float4)(value.s0, 0.0f, 0.0f, 0.0f);
            }
        }
        acc1 = exp(acc1 - before0_0);
        if (n0 < 3) {
            part0 = part0 + acc1;
        }
        acc2 = exp(acc2 - before0_0);
        if (n0 < 3) {
            part0 = part0 + acc2;
        }
        {
            const float2 folded2 = part0.s01 + part0.s23;
            const float folded1 = folded2.s0 + folded2.s1;
            partial_local[lm*4 + ln] = folded1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (ln < 2) {
            partial_local[lm*4 + ln] = partial_local[lm*4 + ln] + partial_local[lm*4 + ln + 2];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (ln < 1) {
            partial_local[lm*4 + ln] = partial_local[lm*4 + ln] + partial_local[lm*4 + ln + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        {
            const float total = partial_local[lm*4];
            before1_0 = 1.0f / total;
        }
    }
    const int at4 = m0*37 + n0*12;
    {
        const float4 value = acc0 * before1_0;
        if (m0 < 6) {
            if (at2 <= 33) {
                vstore4(value, 0, output_after + at4);
            } else {
                output_after[at4] = value.s0;
                if (at2 + 1 < 37) output_after[(ptrdiff_t)at4 + 1] = value.s1;
                if (at2 + 2 < 37) output_after[(ptrdiff_t)at4 + 2] = value.s2;
                if (at2 + 3 < 37) output_after[(ptrdiff_t)at4 + 3] = value.s3;
            }
        }
    }
    {
        const float4 value = acc1 * before1_0;
        if (m0 < 6) {
            const int t19 = at2 + 4;
            if (t19 <= 33) {
                vstore4(value, 0, output_after + ((ptrdiff_t)at4 + 4));
            } else {
                const int t20 = at4 + 4;
                if (t19 < 37) output_after[t20] = value.s0;
                if (t19 + 1 < 37) output_after[(ptrdiff_t)t20 + 1] = value.s1;
                if (t19 + 2 < 37) output_after[(ptrdiff_t)t20 + 2] = value.s2;
                if (t19 + 3 < 37) output_after[(ptrdiff_t)t20 + 3] = value.s3;
            }
        }
    }
    {
        const float4 value = acc2 * before1_0;
        if (m0 < 6) {
            const int t21 = at2 + 8;
            if (t21 <= 33) {
                vstore4(value, 0, output_after + ((ptrdiff_t)at4 + 8));
            } else {
                const int t22 = at4 + 8;
                if (t21 < 37) output_after[t22] = value.s0;
                if (t21 + 1 < 37) output_after[(ptrdiff_t)t22 + 1] = value.s1;
                if (t21 + 2 < 37) output_after[(ptrdiff_t)t22 + 2] = value.s2;
                if (t21 + 3 < 37) output_after[(ptrdiff_t)t22 + 3] = value.s3;
            }
        }
    }
}
