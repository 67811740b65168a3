__kernel __attribute__((reqd_work_group_size(8, 2, 4)))
void matmul(
    const __global float* restrict left,  // [768]
    const __global float* restrict right,  // [1280]
    __global float* restrict output)  // [960]
{
    const int gn = get_group_id(0);
    const int gm = get_group_id(1);
    const int ln = get_local_id(0);
    const int lm_0 = get_local_id(1);
    const int lm_1 = (int)get_local_id(2) % 2;
    const int lm_2 = (int)get_local_id(2) / 2;
    __local float left_local[16 * 5];
    __local float right_local[4 * 32];
    const int lm = lm_0 + lm_1*2 + lm_2*4;
    const int m0 = gm*8 + lm;
    const int n0 = gn*8 + ln;
    float4 acc0 = (float4)(0.0f);
    float4 acc1 = (float4)(0.0f);
    const int at0 = gm*512 + ln*32 + lm_0*256;
    const int at2 = gm*16 + ln + lm_0*8;
    const int at3 = lm_0*40 + lm_1*80 + gn*32 + ln*4;
    const int at5 = gn*32 + ln*4;
    const int at6 = ln + lm_0*8;
    const int at7 = lm_0 + lm_1*2;
    const int at8 = ln*4;
    const int at9 = lm*2;
#pragma unroll 1
    for (int k0 = 0; k0 < 8; ++k0) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int at1 = at0 + k0*4;
        const int at4 = at3 + k0*160;
        {
            float4 copied0 = (float4)(0.0f);
            if (lm_1 < 1 && lm_2 < 1 && at2 < 24) copied0 = (*(const __global float4*)(left + at1));
            float4 copied1 = (float4)(0.0f);
            if (lm_2 < 1 && at5 < 40) copied1 = (*(const __global float4*)(right + at4));
            if (lm_1 < 1 && lm_2 < 1) vstore4(copied0, 0, left_local + at6*5);
            if (lm_2 < 1) vstore4(copied1, 0, right_local + (at7*32 + at8));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        {
            const float left_0 = left_local[at9*5];
            const float left_1 = left_local[(at9 + 1)*5];
            const float4 right_2 = vload4(0, right_local + at8);
            acc0 = fma((float4)(left_0), right_2, acc0);
            acc1 = fma((float4)(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at9*5 + 1];
            const float left_1 = left_local[(at9 + 1)*5 + 1];
            const float4 right_2 = vload4(0, right_local + (at8 + 32));
            acc0 = fma((float4)(left_0), right_2, acc0);
            acc1 = fma((float4)(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at9*5 + 2];
            const float left_1 = left_local[(at9 + 1)*5 + 2];
            const float4 right_2 = vload4(0, right_local + (at8 + 64));
            acc0 = fma((float4)(left_0), right_2, acc0);
            acc1 = fma((float4)(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at9*5 + 3];
            const float left_1 = left_local[(at9 + 1)*5 + 3];
            const float4 right_2 = vload4(0, right_local + (at8 + 96));
            acc0 = fma((float4)(left_0), right_2, acc0);
            acc1 = fma((float4)(left_1), right_2, acc1);
        }
    }
    const int at10 = m0*80 + n0*4;
    const int at11 = m0*2;
    const int at12 = n0*4;
    {
        const float4 value = acc0;
        if (at11 < 24) {
            if (at12 <= 36) {
                *(__global float4*)(output + at10) = value;
            } else {
                if (at12 < 40) output[at10] = value.s0;
                if (at12 + 1 < 40) output[(ptrdiff_t)at10 + 1] = value.s1;
                if (at12 + 2 < 40) output[(ptrdiff_t)at10 + 2] = value.s2;
                if (at12 + 3 < 40) output[(ptrdiff_t)at10 + 3] = value.s3;
            }
        }
    }
    {
        const float4 value = acc1;
        if (at11 + 1 < 24) {
            if (at12 <= 36) {
                *(__global float4*)(output + ((ptrdiff_t)at10 + 40)) = value;
            } else {
                const int t0 = at10 + 40;
                if (at12 < 40) output[t0] = value.s0;
                if (at12 + 1 < 40) output[(ptrdiff_t)t0 + 1] = value.s1;
                if (at12 + 2 < 40) output[(ptrdiff_t)t0 + 2] = value.s2;
                if (at12 + 3 < 40) output[(ptrdiff_t)t0 + 3] = value.s3;
            }
        }
    }
}
