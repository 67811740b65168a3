extern "C" __global__ void __launch_bounds__(64) matmul(
    const float* __restrict__ left,  // [768]
    const float* __restrict__ right,  // [1280]
    float* __restrict__ output)  // [960]
{
    const int gn = blockIdx.x;
    const int gm = blockIdx.y;
    const int ln = threadIdx.x;
    const int lm = threadIdx.y;
    const int m0 = gm*8 + lm;
    const int n0 = gn*8 + ln;
    const int at0 = m0*64;
    const int at2 = n0*4;
    const int at4 = m0*80 + n0*4;
    if (m0 < 12 && n0 < 10) {
        ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc1 = ws_splat<4>(0.0f);
#pragma unroll 1
        for (int k0 = 0; k0 < 16; ++k0) {
            const int at1 = at0 + k0*2;
            const int at3 = at2 + k0*80;
            {
                const float left_0 = left[at1];
                const float left_1 = left[at1 + 32];
                const ws_vec<float, 4> right_2 = ws_load<4, 16>(right + at3);
                acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
                acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
            }
            {
                const float left_0 = left[at1 + 1];
                const float left_1 = left[at1 + 33];
                const ws_vec<float, 4> right_2 = ws_load<4, 16>(right + (at3 + 40));
                acc0 = ws_fma(ws_splat<4>(left_0), right_2, acc0);
                acc1 = ws_fma(ws_splat<4>(left_1), right_2, acc1);
            }
        }
        {
            const ws_vec<float, 4> value = acc0;
            ws_store<ws_back, 16>(output + at4, value);
        }
        {
            const ws_vec<float, 4> value = acc1;
            ws_store<ws_back, 16>(output + (at4 + 40), value);
        }
    }
}
