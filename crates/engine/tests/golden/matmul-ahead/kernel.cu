extern "C" __global__ void __launch_bounds__(64) matmul(
    const float* __restrict__ left,  // [1600]
    const float* __restrict__ right,  // [2560]
    float* __restrict__ output)  // [2560]
{
    const int gn = blockIdx.x;
    const int gm = blockIdx.y;
    const int ln_0 = threadIdx.x;
    const int ln_1 = threadIdx.y;
    const int lm = threadIdx.z;
    alignas(16) __shared__ float left_local[16 * 17];
    alignas(16) __shared__ float right_local[16 * 32];
    const int ln = ln_0 + ln_1*4;
    const int m0 = gm*8 + lm;
    const int n0 = gn*8 + ln;
    ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
    ws_vec<float, 4> acc1 = ws_splat<4>(0.0f);
    const int at0 = gm*640 + ln_1*40 + lm*80 + ln_0*4;
    const int at1 = gm*16 + ln_1 + lm*2;
    const int at2 = lm*64 + gn*32 + ln_0*4 + ln_1*16;
    const int at3 = ln_1 + lm*2;
    const int at4 = ln_0*4;
    const int at5 = ln_0*4 + ln_1*16;
    const int at8 = lm*2;
    const int at10 = ln*4;
    {
        ws_vec<float, 4> t0 = ws_vec<float, 4>{};
        if (at1 < 40) t0 = ws_load<4, 16>(left + at0);
        ws_vec<float, 4> copied0 = t0;
        ws_vec<float, 4> copied1 = ws_load<4, 16>(right + at2);
        ws_vec<float, 4> copied2 = ws_load<4, 16>(right + (at2 + 512));
#pragma unroll 1
        for (int tk = 0; tk < 2; ++tk) {
            __syncthreads();
            ws_store<ws_back, 4>(left_local + (at3*17 + at4), copied0);
            ws_store<ws_back, 16>(right_local + (lm*32 + at5), copied1);
            ws_store<ws_back, 16>(right_local + ((lm + 8)*32 + at5), copied2);
            __syncthreads();
            const int at6 = at0 + tk*16;
            ws_vec<float, 4> t1 = ws_vec<float, 4>{};
            if (at1 < 40 && tk + 1 < 2) t1 = ws_load<4, 16>(left + (at6 + 16));
            copied0 = t1;
            const int at7 = at2 + tk*1024;
            ws_vec<float, 4> t2 = ws_vec<float, 4>{};
            if (tk + 1 < 2) t2 = ws_load<4, 16>(right + (at7 + 1024));
            copied1 = t2;
            ws_vec<float, 4> t3 = ws_vec<float, 4>{};
            if (tk + 1 < 2) t3 = ws_load<4, 16>(right + (at7 + 1536));
            copied2 = t3;
#pragma unroll 1
            for (int ik = 0; ik < 4; ++ik) {
                const int k0 = tk*4 + ik;
                const int at9 = ik*4;
                {
                    const float left_0 = left_local[at8*17 + at9];
                    const float left_1 = left_local[(at8 + 1)*17 + at9];
                    const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + (at9*32 + at10));
                    acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
                    acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
                }
                {
                    const float left_0 = left_local[at8*17 + at9 + 1];
                    const float left_1 = left_local[(at8 + 1)*17 + at9 + 1];
                    const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + ((at9 + 1)*32 + at10));
                    acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
                    acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
                }
                {
                    const float left_0 = left_local[at8*17 + at9 + 2];
                    const float left_1 = left_local[(at8 + 1)*17 + at9 + 2];
                    const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + ((at9 + 2)*32 + at10));
                    acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
                    acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
                }
                {
                    const float left_0 = left_local[at8*17 + at9 + 3];
                    const float left_1 = left_local[(at8 + 1)*17 + at9 + 3];
                    const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + ((at9 + 3)*32 + at10));
                    acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
                    acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
                }
            }
        }
    }
    __syncthreads();
    {
        ws_vec<float, 4> copied0 = ws_vec<float, 4>{};
        if (ln_0 < 2 && at1 < 40) copied0 = ws_load<4, 16>(left + (at0 + 32));
        const ws_vec<float, 4> copied1 = ws_load<4, 16>(right + (at2 + 2048));
        if (ln_0 < 2) ws_store<ws_back, 4>(left_local + (at3*17 + at4), copied0);
        ws_store<ws_back, 16>(right_local + (lm*32 + at5), copied1);
    }
    __syncthreads();
#pragma unroll 1
    for (int ik = 0; ik < 2; ++ik) {
        const int k0 = ik + 8;
        const int at11 = ik*4;
        {
            const float left_0 = left_local[at8*17 + at11];
            const float left_1 = left_local[(at8 + 1)*17 + at11];
            const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + (at11*32 + at10));
            acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
            acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at8*17 + at11 + 1];
            const float left_1 = left_local[(at8 + 1)*17 + at11 + 1];
            const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + ((at11 + 1)*32 + at10));
            acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
            acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at8*17 + at11 + 2];
            const float left_1 = left_local[(at8 + 1)*17 + at11 + 2];
            const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + ((at11 + 2)*32 + at10));
            acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
            acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at8*17 + at11 + 3];
            const float left_1 = left_local[(at8 + 1)*17 + at11 + 3];
            const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + ((at11 + 3)*32 + at10));
            acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
            acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
        }
    }
    const int at12 = m0*128 + n0*4;
    const int at13 = m0*2;
    {
        const ws_vec<float, 4> value = acc0;
        if (at13 < 40) ws_store<ws_back, 16>(output + at12, value);
    }
    {
        const ws_vec<float, 4> value = acc1;
        if (at13 + 1 < 40) ws_store<ws_back, 16>(output + (at12 + 64), value);
    }
}
