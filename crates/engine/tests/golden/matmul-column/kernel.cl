__constant sampler_t ws_border_zero = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void matmul(
    __read_only image2d_t left,  // 8 x 24 texels, float RGBA
    __read_only image2d_t right,  // 10 x 32 texels, float RGBA
    __write_only image2d_t output)  // 10 x 24 texels, float RGBA
{
    const int gn = get_group_id(0);
    const int gm = get_group_id(1);
    const int ln = get_local_id(0);
    const int lm = get_local_id(1);
    const int m0 = gm*8 + lm;
    const int n0 = gn*8 + ln;
    const int at0 = m0*2;
    if (m0 < 12 && n0 < 10) {
        float4 acc0 = (float4)(0.0f);
        float4 acc1 = (float4)(0.0f);
#pragma unroll 1
        for (int k0 = 0; k0 < 8; ++k0) {
            const int at1 = k0*4;
            {
                const float4 left_0 = read_imagef(left, ws_border_zero, (int2)(k0, at0));
                const float4 left_1 = read_imagef(left, ws_border_zero, (int2)(k0, at0 + 1));
                const float4 right_2 = read_imagef(right, ws_border_zero, (int2)(n0, at1));
                const float4 right_3 = read_imagef(right, ws_border_zero, (int2)(n0, at1 + 1));
                const float4 right_4 = read_imagef(right, ws_border_zero, (int2)(n0, at1 + 2));
                const float4 right_5 = read_imagef(right, ws_border_zero, (int2)(n0, at1 + 3));
                acc0 = fma((float4)(left_0.s0), right_2, acc0);
                acc1 = fma((float4)(left_1.s0), right_2, acc1);
                acc0 = fma((float4)(left_0.s1), right_3, acc0);
                acc1 = fma((float4)(left_1.s1), right_3, acc1);
                acc0 = fma((float4)(left_0.s2), right_4, acc0);
                acc1 = fma((float4)(left_1.s2), right_4, acc1);
                acc0 = fma((float4)(left_0.s3), right_5, acc0);
                acc1 = fma((float4)(left_1.s3), right_5, acc1);
            }
        }
        {
            const float4 value = acc0;
            write_imagef(output, (int2)(n0, at0), value);
        }
        {
            const float4 value = acc1;
            write_imagef(output, (int2)(n0, at0 + 1), value);
        }
    }
}
