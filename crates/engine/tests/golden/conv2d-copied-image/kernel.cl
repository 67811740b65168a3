__constant sampler_t ws_border_zero = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel __attribute__((reqd_work_group_size(8, 4, 2)))
void conv2d(
    __read_only image2d_t input,  // 15 x 39 texels, float RGBA
    __read_only image2d_t weight,  // 90 x 8 texels, float RGBA
    __write_only image2d_t output)  // 15 x 104 texels, float RGBA
{
    const int gx = get_group_id(0);
    const int gk = get_group_id(1);
    const int gy = get_group_id(2);
    const int lx = get_local_id(0);
    const int lk_0 = get_local_id(1);
    const int lk_1 = get_local_id(2);
    __local float input_local[1 * 1 * 3 * 18 * 4];
    const int lk = lk_0 + lk_1*4;
    const int k0 = gk*8 + lk;
    const int y0 = gy;
    const int x0 = gx*8 + lx;
    float4 acc0 = (float4)(0.0f);
    float4 acc1 = (float4)(0.0f);
    const int at0 = gx*16 + lx + lk_0*8;
    const int at1 = gy + lk_1;
    const int at2 = lx + lk_0*8;
    const int at4 = lx*2;
    {
        float4 t0 = (float4)(0.0f);
        if (at2 < 18 && at1 - 1 >= 0 && (uint)(at0 - 1) < 15u) t0 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at1 - 1));
        float4 copied0 = t0;
        float4 t1 = (float4)(0.0f);
        if (lk_1 + 2 < 3 && at2 < 18 && at1 + 1 < 13 && (uint)(at0 - 1) < 15u) t1 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at1 + 1));
        float4 copied1 = t1;
#pragma unroll 1
        for (int c0 = 0; c0 < 2; ++c0) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (at2 < 18) vstore4(copied0, 0, input_local + (lk_1*18 + at2)*4);
            if (lk_1 + 2 < 3 && at2 < 18) vstore4(copied1, 0, input_local + ((lk_1 + 2)*18 + at2)*4);
            barrier(CLK_LOCAL_MEM_FENCE);
            const int at3 = at1 + c0*13;
            float4 t2 = (float4)(0.0f);
            if (at2 < 18 && at1 - 1 >= 0 && (uint)(at0 - 1) < 15u && c0 + 1 < 2) t2 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at3 + 12));
            copied0 = t2;
            float4 t3 = (float4)(0.0f);
            if (lk_1 + 2 < 3 && at2 < 18 && at1 + 1 < 13 && (uint)(at0 - 1) < 15u && c0 + 1 < 2) t3 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at3 + 14));
            copied1 = t3;
            const int at6 = c0*36;
#pragma unroll 1
            for (int r0 = 0; r0 < 3; ++r0) {
                const int at7 = at6 + r0*3;
#pragma unroll 1
                for (int s0 = 0; s0 < 3; ++s0) {
                    const int at5 = at4 + s0;
                    const int at8 = at7 + s0;
                    {
                        const float4 input_0 = vload4(0, input_local + (r0*18 + at5)*4);
                        const float4 input_1 = vload4(0, input_local + (r0*18 + at5 + 1)*4);
                        const float4 weight_2 = read_imagef(weight, ws_border_zero, (int2)(at8, k0));
                        const float4 weight_3 = read_imagef(weight, ws_border_zero, (int2)(at8 + 9, k0));
                        const float4 weight_4 = read_imagef(weight, ws_border_zero, (int2)(at8 + 18, k0));
                        const float4 weight_5 = read_imagef(weight, ws_border_zero, (int2)(at8 + 27, k0));
                        acc0 = fma((float4)(input_0.s0), weight_2, acc0);
                        acc1 = fma((float4)(input_1.s0), weight_2, acc1);
                        acc0 = fma((float4)(input_0.s1), weight_3, acc0);
                        acc1 = fma((float4)(input_1.s1), weight_3, acc1);
                        acc0 = fma((float4)(input_0.s2), weight_4, acc0);
                        acc1 = fma((float4)(input_1.s2), weight_4, acc1);
                        acc0 = fma((float4)(input_0.s3), weight_5, acc0);
                        acc1 = fma((float4)(input_1.s3), weight_5, acc1);
                    }
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    {
        float4 copied0 = (float4)(0.0f);
        if (at2 < 18 && at1 - 1 >= 0 && (uint)(at0 - 1) < 15u) copied0 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at1 + 25));
        float4 copied1 = (float4)(0.0f);
        if (lk_1 + 2 < 3 && at2 < 18 && at1 + 1 < 13 && (uint)(at0 - 1) < 15u) copied1 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at1 + 27));
        if (at2 < 18) vstore4(copied0, 0, input_local + (lk_1*18 + at2)*4);
        if (lk_1 + 2 < 3 && at2 < 18) vstore4(copied1, 0, input_local + ((lk_1 + 2)*18 + at2)*4);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int r0 = 0; r0 < 3; ++r0) {
        const int at10 = r0*3;
#pragma unroll 1
        for (int s0 = 0; s0 < 3; ++s0) {
            const int at9 = at4 + s0;
            const int at11 = at10 + s0;
            {
                const float4 input_0 = vload4(0, input_local + (r0*18 + at9)*4);
                const float4 input_1 = vload4(0, input_local + (r0*18 + at9 + 1)*4);
                const float4 weight_2 = read_imagef(weight, ws_border_zero, (int2)(at11 + 72, k0));
                const float4 weight_3 = read_imagef(weight, ws_border_zero, (int2)(at11 + 81, k0));
                acc0 = fma((float4)(input_0.s0), weight_2, acc0);
                acc1 = fma((float4)(input_1.s0), weight_2, acc1);
                acc0 = fma((float4)(input_0.s1), weight_3, acc0);
                acc1 = fma((float4)(input_1.s1), weight_3, acc1);
            }
        }
    }
    const int at12 = x0*2;
    const int at13 = k0*13 + y0;
    {
        const float4 value = acc0;
        write_imagef(output, (int2)(at12, at13), value);
    }
    {
        const float4 value = acc1;
        if (at12 + 1 < 15) write_imagef(output, (int2)(at12 + 1, at13), value);
    }
}
