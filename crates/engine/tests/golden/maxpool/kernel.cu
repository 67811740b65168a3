extern "C" __global__ void __launch_bounds__(32) maxpool(
    const float* __restrict__ input,  // [1800]
    const float* __restrict__ penalty_y,  // [17]
    const float* __restrict__ penalty_x,  // [17]
    float* __restrict__ output)  // [512]
{
    const int gc = blockIdx.x;
    const int gy = blockIdx.y;
    const int gx = blockIdx.z;
    const int lc = threadIdx.x;
    const int ly = threadIdx.y;
    const int c0 = gc*8 + lc;
    const int y0 = gy*4 + ly;
    const int x0 = gx;
    ws_vec<float, 2> acc0 = ws_splat<2>(ws_bits<float>(0xff800000u));
    const int at0 = c0*225 + y0*30 + x0*4;
    const int at3 = y0*2;
    const int at5 = x0*4;
#pragma unroll 1
    for (int r0 = 0; r0 < 3; ++r0) {
        const int at1 = at0 + r0*15;
        const int at4 = at3 + r0;
#pragma unroll 1
        for (int s0 = 0; s0 < 3; ++s0) {
            const int at2 = at1 + s0;
            const int at6 = at5 + s0;
            {
                const float input_0 = ((unsigned)(at4 - 1) < 15u && at6 - 1 >= 0) ? input[at2 - 16] : 0.0f;
                const float input_1 = ((unsigned)(at4 - 1) < 15u && at6 + 1 < 15) ? input[at2 - 14] : 0.0f;
                const float penalty_y_2 = penalty_y[at4];
                const float penalty_x_3 = penalty_x[at6];
                const float penalty_x_4 = penalty_x[at6 + 2];
                acc0 = ws_max(acc0, ws_vec<float, 2>{input_0, input_1} + (penalty_y_2 + ws_vec<float, 2>{penalty_x_3, penalty_x_4}));
            }
        }
    }
    const int at7 = c0*64 + y0*8 + x0*2;
    {
        const ws_vec<float, 2> value = acc0;
        ws_store<ws_back, 8>(output + at7, value);
    }
}
