__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void conv2d(
    const __global float* restrict input,  // [1176]
    const __global float* restrict weight,  // [432]
    __global float* restrict output)  // [1568]
{
    const int gx = get_group_id(0);
    const int gy = get_group_id(1);
    const int gk = get_group_id(2);
    const int lx = get_local_id(0);
    const int ly = get_local_id(1);
    const int k0 = gk;
    const int y0 = gy*8 + ly;
    const int x0 = gx*8 + lx;
    const int at0 = y0*14 + x0*2;
    const int at5 = x0*2;
    const int at7 = k0*108;
    const int at11 = k0*392 + y0*14 + x0*2;
    if (y0 < 14 && x0 < 7) {
        float2 acc0 = (float2)(0.0f);
        float2 acc1 = (float2)(0.0f);
#pragma unroll 1
        for (int c0 = 0; c0 < 6; ++c0) {
            const int at1 = at0 + c0*196;
            const int at8 = at7 + c0*9;
#pragma unroll 1
            for (int r0 = 0; r0 < 3; ++r0) {
                const int at2 = at1 + r0*14;
                const int at4 = y0 + r0;
                const int at9 = at8 + r0*3;
#pragma unroll 1
                for (int s0 = 0; s0 < 3; ++s0) {
                    const int at3 = at2 + s0;
                    const int at6 = at5 + s0;
                    const int at10 = at9 + s0;
                    {
                        float2 input_0 = (float2)(0.0f);
                        if ((uint)(at4 - 1) < 14u) {
                            const int t0 = at6 - 1;
                            if (t0 >= 0 && t0 <= 12) {
                                input_0 = vload2(0, input + ((ptrdiff_t)at3 - 15));
                            } else {
                                const int t1 = at3 - 15;
                                if ((uint)t0 < 14u) input_0.s0 = input[t1];
                                if (t0 + 1 < 14) input_0.s1 = input[(ptrdiff_t)t1 + 1];
                            }
                        }
                        const float weight_1 = weight[at10];
                        const float weight_2 = weight[(ptrdiff_t)at10 + 54];
                        acc0 = fma(input_0, (float2)(weight_1), acc0);
                        acc1 = fma(input_0, (float2)(weight_2), acc1);
                    }
                }
            }
        }
        {
            const float2 value = acc0;
            *(__global float2*)(output + at11) = value;
        }
        {
            const float2 value = acc1;
            *(__global float2*)(output + ((ptrdiff_t)at11 + 196)) = value;
        }
    }
}
