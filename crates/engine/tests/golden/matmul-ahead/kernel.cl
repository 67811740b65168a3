__kernel __attribute__((reqd_work_group_size(4, 2, 8)))
void matmul(
    const __global float* restrict left,  // [1600]
    const __global float* restrict right,  // [2560]
    __global float* restrict output)  // [2560]
{
    const int gn = get_group_id(0);
    const int gm = get_group_id(1);
    const int ln_0 = get_local_id(0);
    const int ln_1 = get_local_id(1);
    const int lm = get_local_id(2);
    __local float left_local[16 * 17];
    __local float right_local[16 * 32];
    const int ln = ln_0 + ln_1*4;
    const int m0 = gm*8 + lm;
    const int n0 = gn*8 + ln;
    float4 acc0 = (float4)(0.0f);
    float4 acc1 = (float4)(0.0f);
    const int at0 = gm*640 + ln_1*40 + lm*80 + ln_0*4;
    const int at1 = gm*16 + ln_1 + lm*2;
    const int at2 = lm*64 + gn*32 + ln_0*4 + ln_1*16;
    const int at3 = ln_1 + lm*2;
    const int at4 = ln_0*4;
    const int at5 = ln_0*4 + ln_1*16;
    const int at8 = lm*2;
    const int at10 = ln*4;
    {
        float4 t0 = (float4)(0.0f);
        if (at1 < 40) t0 = (*(const __global float4*)(left + at0));
        float4 copied0 = t0;
        float4 copied1 = (*(const __global float4*)(right + at2));
        float4 copied2 = (*(const __global float4*)(right + ((ptrdiff_t)at2 + 512)));
#pragma unroll 1
        for (int tk = 0; tk < 2; ++tk) {
            barrier(CLK_LOCAL_MEM_FENCE);
            vstore4(copied0, 0, left_local + (at3*17 + at4));
            vstore4(copied1, 0, right_local + (lm*32 + at5));
            vstore4(copied2, 0, right_local + ((lm + 8)*32 + at5));
            barrier(CLK_LOCAL_MEM_FENCE);
            const int at6 = at0 + tk*16;
            float4 t1 = (float4)(0.0f);
            if (at1 < 40 && tk + 1 < 2) t1 = (*(const __global float4*)(left + ((ptrdiff_t)at6 + 16)));
            copied0 = t1;
            const int at7 = at2 + tk*1024;
            float4 t2 = (float4)(0.0f);
            if (tk + 1 < 2) t2 = (*(const __global float4*)(right + ((ptrdiff_t)at7 + 1024)));
            copied1 = t2;
            float4 t3 = (float4)(0.0f);
            if (tk + 1 < 2) t3 = (*(const __global float4*)(right + ((ptrdiff_t)at7 + 1536)));
            copied2 = t3;
#pragma unroll 1
            for (int ik = 0; ik < 4; ++ik) {
                const int k0 = tk*4 + ik;
                const int at9 = ik*4;
                {
                    const float left_0 = left_local[at8*17 + at9];
                    const float left_1 = left_local[(at8 + 1)*17 + at9];
                    const float4 right_2 = vload4(0, right_local + (at9*32 + at10));
                    acc0 = fma((float4)(left_0), right_2, acc0);
                    acc1 = fma((float4)(left_1), right_2, acc1);
                }
                {
                    const float left_0 = left_local[at8*17 + at9 + 1];
                    const float left_1 = left_local[(at8 + 1)*17 + at9 + 1];
                    const float4 right_2 = vload4(0, right_local + ((at9 + 1)*32 + at10));
                    acc0 = fma((float4)(left_0), right_2, acc0);
                    acc1 = fma((float4)(left_1), right_2, acc1);
                }
                {
                    const float left_0 = left_local[at8*17 + at9 + 2];
                    const float left_1 = left_local[(at8 + 1)*17 + at9 + 2];
                    const float4 right_2 = vload4(0, right_local + ((at9 + 2)*32 + at10));
                    acc0 = fma((float4)(left_0), right_2, acc0);
                    acc1 = fma((float4)(left_1), right_2, acc1);
                }
                {
                    const float left_0 = left_local[at8*17 + at9 + 3];
                    const float left_1 = left_local[(at8 + 1)*17 + at9 + 3];
                    const float4 right_2 = vload4(0, right_local + ((at9 + 3)*32 + at10));
                    acc0 = fma((float4)(left_0), right_2, acc0);
                    acc1 = fma((float4)(left_1), right_2, acc1);
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    {
        float4 copied0 = (float4)(0.0f);
        if (ln_0 < 2 && at1 < 40) copied0 = (*(const __global float4*)(left + ((ptrdiff_t)at0 + 32)));
        const float4 copied1 = (*(const __global float4*)(right + ((ptrdiff_t)at2 + 2048)));
        if (ln_0 < 2) vstore4(copied0, 0, left_local + (at3*17 + at4));
        vstore4(copied1, 0, right_local + (lm*32 + at5));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int ik = 0; ik < 2; ++ik) {
        const int k0 = ik + 8;
        const int at11 = ik*4;
        {
            const float left_0 = left_local[at8*17 + at11];
            const float left_1 = left_local[(at8 + 1)*17 + at11];
            const float4 right_2 = vload4(0, right_local + (at11*32 + at10));
            acc0 = fma((float4)(left_0), right_2, acc0);
            acc1 = fma((float4)(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at8*17 + at11 + 1];
            const float left_1 = left_local[(at8 + 1)*17 + at11 + 1];
            const float4 right_2 = vload4(0, right_local + ((at11 + 1)*32 + at10));
            acc0 = fma((float4)(left_0), right_2, acc0);
            acc1 = fma((float4)(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at8*17 + at11 + 2];
            const float left_1 = left_local[(at8 + 1)*17 + at11 + 2];
            const float4 right_2 = vload4(0, right_local + ((at11 + 2)*32 + at10));
            acc0 = fma((float4)(left_0), right_2, acc0);
            acc1 = fma((float4)(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at8*17 + at11 + 3];
            const float left_1 = left_local[(at8 + 1)*17 + at11 + 3];
            const float4 right_2 = vload4(0, right_local + ((at11 + 3)*32 + at10));
            acc0 = fma((float4)(left_0), right_2, acc0);
            acc1 = fma((float4)(left_1), right_2, acc1);
        }
    }
    const int at12 = m0*128 + n0*4;
    const int at13 = m0*2;
    {
        const float4 value = acc0;
        if (at13 < 40) *(__global float4*)(output + at12) = value;
    }
    {
        const float4 value = acc1;
        if (at13 + 1 < 40) *(__global float4*)(output + ((ptrdiff_t)at12 + 64)) = value;
    }
}
