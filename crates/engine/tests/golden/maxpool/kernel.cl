float2 ws_max_float2(float2 a, float2 b)
{
    return b == b ? (b > a ? b : a) : b;
}

__kernel __attribute__((reqd_work_group_size(8, 4, 1)))
void maxpool(
    const __global float* restrict input,  // [1800]
    const __global float* restrict penalty_y,  // [17]
    const __global float* restrict penalty_x,  // [17]
    __global float* restrict output)  // [512]
{
    const int gc = get_group_id(0);
    const int gy = get_group_id(1);
    const int gx = get_group_id(2);
    const int lc = get_local_id(0);
    const int ly = get_local_id(1);
    const int c0 = gc*8 + lc;
    const int y0 = gy*4 + ly;
    const int x0 = gx;
    float2 acc0 = (float2)(-INFINITY);
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
                const float input_0 = ((uint)(at4 - 1) < 15u && at6 - 1 >= 0) ? input[(ptrdiff_t)at2 - 16] : 0.0f;
                const float input_1 = ((uint)(at4 - 1) < 15u && at6 + 1 < 15) ? input[(ptrdiff_t)at2 - 14] : 0.0f;
                const float penalty_y_2 = penalty_y[at4];
                const float penalty_x_3 = penalty_x[at6];
                const float penalty_x_4 = penalty_x[(ptrdiff_t)at6 + 2];
                acc0 = ws_max_float2(acc0, (float2)(input_0, input_1) + (penalty_y_2 + (float2)(penalty_x_3, penalty_x_4)));
            }
        }
    }
    const int at7 = c0*64 + y0*8 + x0*2;
    {
        const float2 value = acc0;
        *(__global float2*)(output + at7) = value;
    }
}
