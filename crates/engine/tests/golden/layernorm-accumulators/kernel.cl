#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void layernorm(
    const __global float* restrict input,  // [2100]
    const __global float* restrict scale,  // [70]
    const __global float* restrict bias,  // [70]
    __global float* restrict output)  // [2100]
{
    const int gn = get_group_id(0);
    const int ln = get_local_id(0);
    const int n0 = gn*4 + ln;
    const int at0 = n0*70;
    if (n0 < 30) {
        float before0_0 = 0.0f;
        {
            float4 acc0_0 = (float4)(0.0f);
            float4 acc0_1 = (float4)(0.0f);
            float4 acc0_2 = (float4)(0.0f);
            float4 acc0_3 = (float4)(0.0f);
            float rest0 = 0.0f;
#pragma unroll 1
            for (int r10 = 0; r10 < 4; ++r10) {
                const int at1 = at0 + r10*16;
                {
                    const float4 input_0 = vload4(0, input + at1);
                    acc0_0 = acc0_0 + input_0;
                }
                {
                    const float4 input_0 = vload4(0, input + ((ptrdiff_t)at1 + 4));
                    acc0_1 = acc0_1 + input_0;
                }
                {
                    const float4 input_0 = vload4(0, input + ((ptrdiff_t)at1 + 8));
                    acc0_2 = acc0_2 + input_0;
                }
                {
                    const float4 input_0 = vload4(0, input + ((ptrdiff_t)at1 + 12));
                    acc0_3 = acc0_3 + input_0;
                }
            }
            {
                const float4 input_0 = vload4(0, input + ((ptrdiff_t)at0 + 64));
                acc0_0 = acc0_0 + input_0;
            }
            {
                const float2 input_0 = (*(const __global float2*)(input + ((ptrdiff_t)at0 + 68)));
                {
                    const float2 value = input_0;
                    const float folded1 = value.s0 + value.s1;
                    rest0 = rest0 + folded1;
                }
            }
            {
                const float4 joined = acc0_0 + acc0_2 + (acc0_1 + acc0_3);
                const float2 folded2 = joined.s01 + joined.s23;
                const float folded1 = folded2.s0 + folded2.s1;
                before0_0 = (folded1 + rest0) * 0.014285714f;
            }
        }
        float before1_0 = 0.0f;
        {
            float4 acc0_0 = (float4)(0.0f);
            float4 acc0_1 = (float4)(0.0f);
            float4 acc0_2 = (float4)(0.0f);
            float4 acc0_3 = (float4)(0.0f);
            float rest0 = 0.0f;
#pragma unroll 1
            for (int r10 = 0; r10 < 4; ++r10) {
                const int at2 = at0 + r10*16;
                {
                    const float4 input_0 = vload4(0, input + at2);
                    acc0_0 = fma(input_0 - before0_0, input_0 - before0_0, acc0_0);
                }
                {
                    const float4 input_0 = vload4(0, input + ((ptrdiff_t)at2 + 4));
                    acc0_1 = fma(input_0 - before0_0, input_0 - before0_0, acc0_1);
                }
                {
                    const float4 input_0 = vload4(0, input + ((ptrdiff_t)at2 + 8));
                    acc0_2 = fma(input_0 - before0_0, input_0 - before0_0, acc0_2);
                }
                {
                    const float4 input_0 = vload4(0, input + ((ptrdiff_t)at2 + 12));
                    acc0_3 = fma(input_0 - before0_0, input_0 - before0_0, acc0_3);
                }
            }
            {
                const float4 input_0 = vload4(0, input + ((ptrdiff_t)at0 + 64));
                acc0_0 = fma(input_0 - before0_0, input_0 - before0_0, acc0_0);
            }
            {
                const float2 input_0 = (*(const __global float2*)(input + ((ptrdiff_t)at0 + 68)));
                {
                    const float2 value = (input_0 - before0_0) * (input_0 - before0_0);
                    const float folded1 = value.s0 + value.s1;
                    rest0 = rest0 + folded1;
                }
            }
            {
                const float4 joined = acc0_0 + acc0_2 + (acc0_1 + acc0_3);
                const float2 folded2 = joined.s01 + joined.s23;
                const float folded1 = folded2.s0 + folded2.s1;
                before1_0 = rsqrt((folded1 + rest0) * 0.014285714f + 1e-5f);
            }
        }
#pragma unroll 1
        for (int r10 = 0; r10 < 4; ++r10) {
            const int at3 = at0 + r10*16;
            const int at4 = r10*16;
            {
                const float4 input_0 = vload4(0, input + at3);
                const float4 scale_1 = (*(const __global float4*)(scale + at4));
                const float4 bias_2 = (*(const __global float4*)(bias + at4));
                {
                    const float4 value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                    vstore4(value, 0, output + at3);
                }
            }
            {
                const float4 input_0 = vload4(0, input + ((ptrdiff_t)at3 + 4));
                const float4 scale_1 = (*(const __global float4*)(scale + ((ptrdiff_t)at4 + 4)));
                const float4 bias_2 = (*(const __global float4*)(bias + ((ptrdiff_t)at4 + 4)));
                {
                    const float4 value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                    vstore4(value, 0, output + ((ptrdiff_t)at3 + 4));
                }
            }
            {
                const float4 input_0 = vload4(0, input + ((ptrdiff_t)at3 + 8));
                const float4 scale_1 = (*(const __global float4*)(scale + ((ptrdiff_t)at4 + 8)));
                const float4 bias_2 = (*(const __global float4*)(bias + ((ptrdiff_t)at4 + 8)));
                {
                    const float4 value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                    vstore4(value, 0, output + ((ptrdiff_t)at3 + 8));
                }
            }
            {
                const float4 input_0 = vload4(0, input + ((ptrdiff_t)at3 + 12));
                const float4 scale_1 = (*(const __global float4*)(scale + ((ptrdiff_t)at4 + 12)));
                const float4 bias_2 = (*(const __global float4*)(bias + ((ptrdiff_t)at4 + 12)));
                {
                    const float4 value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                    vstore4(value, 0, output + ((ptrdiff_t)at3 + 12));
                }
            }
        }
        {
            const float4 input_0 = vload4(0, input + ((ptrdiff_t)at0 + 64));
            const float4 scale_1 = (*(const __global float4*)(scale + 64));
            const float4 bias_2 = (*(const __global float4*)(bias + 64));
            {
                const float4 value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                vstore4(value, 0, output + ((ptrdiff_t)at0 + 64));
            }
        }
        {
            const float2 input_0 = (*(const __global float2*)(input + ((ptrdiff_t)at0 + 68)));
            const float2 scale_1 = (*(const __global float2*)(scale + 68));
            const float2 bias_2 = (*(const __global float2*)(bias + 68));
            {
                const float2 value = (input_0 - before0_0) * before1_0 * scale_1 + bias_2;
                *(__global float2*)(output + ((ptrdiff_t)at0 + 68)) = value;
            }
        }
    }
}
