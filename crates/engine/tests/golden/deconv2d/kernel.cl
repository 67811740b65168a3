__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void deconv2d(
    const __global float* restrict input,  // [210]
    const __global float* restrict weight,  // [432]
    __global float* restrict output)  // [936]
{
    const int gx = get_group_id(0);
    const int gk = get_group_id(1);
    const int gy = (int)get_group_id(2) % 5;
    const int gpy = (int)get_group_id(2) / 5 % 2;
    const int gpx = (int)get_group_id(2) / 10;
    const int lx = get_local_id(0);
    const int lk = get_local_id(1);
    const int k0 = gk*8 + lk;
    const int y0 = gy;
    const int x0 = gx*8 + lx;
    const int py0 = gpy;
    const int px0 = gpx;
    const int at0 = y0*7 + x0;
    const int at6 = k0*9 + py0*3 + px0;
    const int at12 = k0*117 + y0*26 + py0*13 + x0*2 + px0;
    const int at13 = y0*2 + py0;
    const int at14 = x0*2 + px0;
    if (x0 < 7) {
        float acc0 = 0.0f;
#pragma unroll 1
        for (int c0 = 0; c0 < 6; ++c0) {
            const int at1 = at0 + c0*35;
            const int at7 = at6 + c0*72;
#pragma unroll 1
            for (int r0 = 0; r0 < 2; ++r0) {
                const int at2 = at1 + r0*-7;
                const int at4 = y0 + r0*-1;
                const int at8 = at7 + r0*6;
                const int at10 = py0 + r0*2;
#pragma unroll 1
                for (int s0 = 0; s0 < 2; ++s0) {
                    const int at3 = at2 + s0*-1;
                    const int at5 = x0 + s0*-1;
                    const int at9 = at8 + s0*2;
                    const int at11 = px0 + s0*2;
                    {
                        const float input_0 = (at4 >= 0 && (uint)at5 < 7u) ? input[at3] : 0.0f;
                        const float weight_1 = (at10 < 3 && at11 < 3) ? weight[at9] : 0.0f;
                        acc0 = fma(input_0, weight_1, acc0);
                    }
                }
            }
        }
        {
            const float value = acc0;
            if (at13 - 1 >= 0 && (uint)(at14 - 1) < 13u) output[(ptrdiff_t)at12 - 14] = value;
        }
    }
}
