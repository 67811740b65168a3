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
void softmax(
    const __global float* restrict input,  // [2100]
    __global float* restrict output)  // [2100]
{
    const int gn = get_group_id(0);
    const int lr1 = get_local_id(0);
    const int ln = get_local_id(1);
    __local float partial_local[1 * 4 * 4 * 1];
    const int n0 = gn*4 + ln;
    float before0_0 = 0.0f;
    const int at0 = n0*70;
    {
        float4 acc0 = (float4)(-INFINITY);
        float rest0 = -INFINITY;
        if (n0 <= 29) {
#pragma unroll 1
            for (int tr1 = 0; tr1 < 4; ++tr1) {
                const int r10 = tr1*4 + lr1;
                const int at1 = at0 + r10*4;
                {
                    const float4 input_0 = vload4(0, input + at1);
                    acc0 = ws_max_float4(acc0, input_0);
                }
            }
        } else {
#pragma unroll 1
            for (int tr1 = 0; tr1 < 4; ++tr1) {
                const int r10 = tr1*4 + lr1;
                const int at1 = at0 + r10*4;
                {
                    float4 input_0 = (float4)(0.0f);
                    if (n0 < 30) input_0 = vload4(0, input + at1);
                    acc0 = ws_max_float4(acc0, input_0);
                }
            }
        }
        if (lr1 < 1) {
            const int r10 = lr1 + 16;
            const int at2 = at0 + r10*4;
            {
                float4 input_0 = (float4)(0.0f);
                if (n0 < 30) input_0 = vload4(0, input + at2);
                acc0 = ws_max_float4(acc0, input_0);
            }
        }
        if (lr1 < 1) {
            {
                float2 input_0 = (float2)(0.0f);
                if (n0 < 30) input_0 = (*(const __global float2*)(input + ((ptrdiff_t)at0 + 68)));
                {
                    const float2 value = input_0;
                    const float folded1 = ws_max_float(value.s0, value.s1);
                    rest0 = ws_max_float(rest0, folded1);
                }
            }
        }
        {
            const float2 folded2 = ws_max_float2(acc0.s01, acc0.s23);
            const float folded1 = ws_max_float(folded2.s0, folded2.s1);
            partial_local[ln*4 + lr1] = ws_max_float(folded1, rest0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lr1 < 2) {
            partial_local[ln*4 + lr1] = ws_max_float(partial_local[ln*4 + lr1], partial_local[ln*4 + lr1 + 2]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lr1 < 1) {
            partial_local[ln*4 + lr1] = ws_max_float(partial_local[ln*4 + lr1], partial_local[ln*4 + lr1 + 1]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        {
            const float total = partial_local[ln*4];
            before0_0 = total;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float before1_0 = 0.0f;
    {
        float4 acc0 = (float4)(0.0f);
        float rest0 = 0.0f;
        if (n0 <= 29) {
#pragma unroll 1
            for (int tr1 = 0; tr1 < 4; ++tr1) {
                const int r10 = tr1*4 + lr1;
                const int at3 = at0 + r10*4;
                {
                    const float4 input_0 = vload4(0, input + at3);
                    {
                        const float4 value = exp(input_0 - before0_0);
                        vstore4(value, 0, output + at3);
                        acc0 = acc0 + value;
                    }
                }
            }
        } else {
#pragma unroll 1
            for (int tr1 = 0; tr1 < 4; ++tr1) {
                const int r10 = tr1*4 + lr1;
                const int at3 = at0 + r10*4;
                {
                    float4 input_0 = (float4)(0.0f);
                    if (n0 < 30) input_0 = vload4(0, input + at3);
                    {
                        const float4 value = exp(input_0 - before0_0);
                        if (n0 < 30) vstore4(value, 0, output + at3);
                        acc0 = acc0 + value;
                    }
                }
            }
        }
        if (lr1 < 1) {
            const int r10 = lr1 + 16;
            const int at4 = at0 + r10*4;
            {
                float4 input_0 = (float4)(0.0f);
                if (n0 < 30) input_0 = vload4(0, input + at4);
                {
                    const float4 value = exp(input_0 - before0_0);
                    if (n0 < 30) vstore4(value, 0, output + at4);
                    acc0 = acc0 + value;
                }
            }
        }
        if (lr1 < 1) {
            {
                float2 input_0 = (float2)(0.0f);
                if (n0 < 30) input_0 = (*(const __global float2*)(input + ((ptrdiff_t)at0 + 68)));
                {
                    const float2 value = exp(input_0 - before0_0);
                    if (n0 < 30) *(__global float2*)(output + ((ptrdiff_t)at0 + 68)) = value;
                    const float folded1 = value.s0 + value.s1;
                    rest0 = rest0 + folded1;
                }
            }
        }
        {
            const float2 folded2 = acc0.s01 + acc0.s23;
            const float folded1 = folded2.s0 + folded2.s1;
            partial_local[ln*4 + lr1] = folded1 + rest0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lr1 < 2) {
            partial_local[ln*4 + lr1] = partial_local[ln*4 + lr1] + partial_local[ln*4 + lr1 + 2];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lr1 < 1) {
            partial_local[ln*4 + lr1] = partial_local[ln*4 + lr1] + partial_local[ln*4 + lr1 + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        {
            const float total = partial_local[ln*4];
            before1_0 = 1.0f / total;
        }
    }
    if (n0 <= 29) {
#pragma unroll 1
        for (int tr1 = 0; tr1 < 4; ++tr1) {
            const int r10 = tr1*4 + lr1;
            const int at5 = at0 + r10*4;
            {
                const float4 output_0 = vload4(0, output + at5);
                {
                    const float4 value = output_0 * before1_0;
                    vstore4(value, 0, output + at5);
                }
            }
        }
    } else {
#pragma unroll 1
        for (int tr1 = 0; tr1 < 4; ++tr1) {
            const int r10 = tr1*4 + lr1;
            const int at5 = at0 + r10*4;
            {
                float4 output_0 = (float4)(0.0f);
                if (n0 < 30) output_0 = vload4(0, output + at5);
                {
                    const float4 value = output_0 * before1_0;
                    if (n0 < 30) vstore4(value, 0, output + at5);
                }
            }
        }
    }
    if (lr1 < 1) {
        const int r10 = lr1 + 16;
        const int at6 = at0 + r10*4;
        {
            float4 output_0 = (float4)(0.0f);
            if (n0 < 30) output_0 = vload4(0, output + at6);
            {
                const float4 value = output_0 * before1_0;
                if (n0 < 30) vstore4(value, 0, output + at6);
            }
        }
    }
    if (lr1 < 1) {
        {
            float2 output_0 = (float2)(0.0f);
            if (n0 < 30) output_0 = (*(const __global float2*)(output + ((ptrdiff_t)at0 + 68)));
            {
                const float2 value = output_0 * before1_0;
                if (n0 < 30) *(__global float2*)(output + ((ptrdiff_t)at0 + 68)) = value;
            }
        }
    }
}
