extern "C" __global__ void __launch_bounds__(64) matmul(
    const float* __restrict__ left,  // [768]
    const float* __restrict__ right,  // [1280]
    float* __restrict__ output)  // [960]
{
    const int gn = blockIdx.x;
    const int gm = blockIdx.y;
    const int ln = threadIdx.x;
    const int lm_0 = threadIdx.y;
    const int lm_1 = (int)threadIdx.z % 2;
    const int lm_2 = (int)threadIdx.z / 2;
    alignas(16) __shared__ float left_local[16 * 5];
    alignas(16) __shared__ float right_local[4 * 32];
    const int lm = lm_0 + lm_1*2 + lm_2*4;
    const int m0 = gm*8 + lm;
    const int n0 = gn*8 + ln;
    ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
    ws_vec<float, 4> acc1 = ws_splat<4>(0.0f);
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
        __syncthreads();
        const int at1 = at0 + k0*4;
        const int at4 = at3 + k0*160;
        {
            ws_vec<float, 4> copied0 = ws_vec<float, 4>{};
            if (lm_1 < 1 && lm_2 < 1 && at2 < 24) copied0 = ws_load<4, 16>(left + at1);
            ws_vec<float, 4> copied1 = ws_vec<float, 4>{};
            if (lm_2 < 1 && at5 < 40) copied1 = ws_load<4, 16>(right + at4);
            if (lm_1 < 1 && lm_2 < 1) ws_store<ws_back, 4>(left_local + at6*5, copied0);
            if (lm_2 < 1) ws_store<ws_back, 16>(right_local + (at7*32 + at8), copied1);
        }
        __syncthreads();
        {
            const float left_0 = left_local[at9*5];
            const float left_1 = left_local[(at9 + 1)*5];
            const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + at8);
            acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
            acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at9*5 + 1];
            const float left_1 = left_local[(at9 + 1)*5 + 1];
            const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + (at8 + 32));
            acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
            acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at9*5 + 2];
            const float left_1 = left_local[(at9 + 1)*5 + 2];
            const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + (at8 + 64));
            acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
            acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
        }
        {
            const float left_0 = left_local[at9*5 + 3];
            const float left_1 = left_local[(at9 + 1)*5 + 3];
            const ws_vec<float, 4> right_2 = ws_load<4, 16>(right_local + (at8 + 96));
            acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
            acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
        }
    }
    const int at10 = m0*80 + n0*4;
    const int at11 = m0*2;
    const int at12 = n0*4;
    {
        const ws_vec<float, 4> value = acc0;
        if (at11 < 24) {
            if (at12 <= 36) {
                ws_store<ws_back, 16>(output + at10, value);
            } else {
                if (at12 < 40) output[at10] = value[0];
                if (at12 + 1 < 40) output[at10 + 1] = value[1];
                if (at12 + 2 < 40) output[at10 + 2] = value[2];
                if (at12 + 3 < 40) output[at10 + 3] = value[3];
            }
        }
    }
    {
        const ws_vec<float, 4> value = acc1;
        if (at11 + 1 < 24) {
            if (at12 <= 36) {
                ws_store<ws_back, 16>(output + (at10 + 40), value);
            } else {
                const int t0 = at10 + 40;
                if (at12 < 40) output[t0] = value[0];
                if (at12 + 1 < 40) output[t0 + 1] = value[1];
                if (at12 + 2 < 40) output[t0 + 2] = value[2];
                if (at12 + 3 < 40) output[t0 + 3] = value[3];
            }
        }
    }
}
