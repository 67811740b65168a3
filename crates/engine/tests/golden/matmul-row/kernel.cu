extern "C" __global__ void __launch_bounds__(64) matmul(
    const float* __restrict__ left,  // [200]
    const float* __restrict__ right,  // [8000]
    float* __restrict__ output)  // [40]
{
    const int gn = blockIdx.x;
    const int ln = threadIdx.x;
    const int lk = threadIdx.y;
    alignas(16) __shared__ float partial_local[1 * 16 * 4 * 4];
    const int n0 = gn*4 + ln;
    ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
    const int at0 = n0*4;
    if (at0 <= 36) {
#pragma unroll 1
        for (int tk = 0; tk < 12; ++tk) {
            const int k0 = tk*16 + lk;
            const int at1 = at0 + k0*40;
            {
                const float left_0 = left[k0];
                const ws_vec<float, 4> right_1 = ws_load<4, 16>(right + at1);
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
            }
        }
    } else {
#pragma unroll 1
        for (int tk = 0; tk < 12; ++tk) {
            const int k0 = tk*16 + lk;
            const int at1 = at0 + k0*40;
            {
                const float left_0 = left[k0];
                ws_vec<float, 4> right_1 = ws_vec<float, 4>{};
                if (at0 <= 36) {
                    right_1 = ws_load<4, 16>(right + at1);
                } else {
                    if (at0 < 40) right_1[0] = right[at1];
                    if (at0 + 1 < 40) right_1[1] = right[at1 + 1];
                    if (at0 + 2 < 40) right_1[2] = right[at1 + 2];
                    if (at0 + 3 < 40) right_1[3] = right[at1 + 3];
                }
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
            }
        }
    }
    if (lk < 8) {
        const int k0 = lk + 192;
        const int at2 = at0 + k0*40;
        {
            const float left_0 = left[k0];
            ws_vec<float, 4> right_1 = ws_vec<float, 4>{};
            if (at0 <= 36) {
                right_1 = ws_load<4, 16>(right + at2);
            } else {
                if (at0 < 40) right_1[0] = right[at2];
                if (at0 + 1 < 40) right_1[1] = right[at2 + 1];
                if (at0 + 2 < 40) right_1[2] = right[at2 + 2];
                if (at0 + 3 < 40) right_1[3] = right[at2 + 3];
            }
            acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
        }
    }
    {
        ws_store<ws_back, 16>(partial_local + (lk*4 + ln)*4, acc0);
    }
    __syncthreads();
    if (lk < 8) {
        ws_store<ws_back, 16>(partial_local + (lk*4 + ln)*4, ws_load<4, 16>(partial_local + (lk*4 + ln)*4) + ws_load<4, 16>(partial_local + ((lk + 8)*4 + ln)*4));
    }
    __syncthreads();
    if (lk < 4) {
        ws_store<ws_back, 16>(partial_local + (lk*4 + ln)*4, ws_load<4, 16>(partial_local + (lk*4 + ln)*4) + ws_load<4, 16>(partial_local + ((lk + 4)*4 + ln)*4));
    }
    __syncthreads();
    if (lk < 2) {
        ws_store<ws_back, 16>(partial_local + (lk*4 + ln)*4, ws_load<4, 16>(partial_local + (lk*4 + ln)*4) + ws_load<4, 16>(partial_local + ((lk + 2)*4 + ln)*4));
    }
    __syncthreads();
    if (lk < 1) {
        ws_store<ws_back, 16>(partial_local + (lk*4 + ln)*4, ws_load<4, 16>(partial_local + (lk*4 + ln)*4) + ws_load<4, 16>(partial_local + ((lk + 1)*4 + ln)*4));
    }
    if (lk < 1) {
        {
            const ws_vec<float, 4> total = ws_load<4, 16>(partial_local + ln*4);
            const ws_vec<float, 4> value = total;
            if (at0 <= 36) {
                ws_store<ws_back, 16>(output + at0, value);
            } else {
                if (at0 < 40) output[at0] = value[0];
                if (at0 + 1 < 40) output[at0 + 1] = value[1];
                if (at0 + 2 < 40) output[at0 + 2] = value[2];
                if (at0 + 3 < 40) output[at0 + 3] = value[3];
            }
        }
    }
}
