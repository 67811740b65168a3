__constant sampler_t ws_border_zero = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void conv2d(
    __read_only image2d_t input,  // 9 x 28 texels, float RGBA
    __read_only image2d_t weight,  // 16 x 6 texels, float RGBA
    __write_only image2d_t output)  // 9 x 42 texels, float RGBA
{
    const int gx = get_group_id(0);
    const int gk = get_group_id(1);
    const int gy = get_group_id(2);
    const int lx = get_local_id(0);
    const int lk = get_local_id(1);
    const int k0 = gk*8 + lk;
    const int y0 = gy;
    const int x0 = gx*8 + lx;
    const int at0 = x0*2;
    const int at3 = k0*7 + y0;
    if (k0 < 6 && x0 < 5) {
        float4 acc0 = (float4)(0.0f);
        float4 acc1 = (float4)(0.0f);
        if (at0 + 1 <= 8) {
#pragma unroll 1
            for (int c0 = 0; c0 < 4; ++c0) {
                const int at1 = y0 + c0*7;
                const int at2 = c0*4;
                {
                    const float4 input_0 = read_imagef(input, ws_border_zero, (int2)(at0, at1));
                    const float4 input_1 = read_imagef(input, ws_border_zero, (int2)(at0 + 1, at1));
                    const float4 weight_2 = read_imagef(weight, ws_border_zero, (int2)(at2, k0));
                    const float4 weight_3 = read_imagef(weight, ws_border_zero, (int2)(at2 + 1, k0));
                    const float4 weight_4 = read_imagef(weight, ws_border_zero, (int2)(at2 + 2, k0));
                    const float4 weight_5 = read_imagef(weight, ws_border_zero, (int2)(at2 + 3, k0));
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
        } else {
#pragma unroll 1
            for (int c0 = 0; c0 < 4; ++c0) {
                const int at1 = y0 + c0*7;
                const int at2 = c0*4;
                {
                    const float4 input_0 = read_imagef(input, ws_border_zero, (int2)(at0, at1));
                    float4 input_1 = (float4)(0.0f);
                    if (at0 + 1 < 9) input_1 = read_imagef(input, ws_border_zero, (int2)(at0 + 1, at1));
                    const float4 weight_2 = read_imagef(weight, ws_border_zero, (int2)(at2, k0));
                    const float4 weight_3 = read_imagef(weight, ws_border_zero, (int2)(at2 + 1, k0));
                    const float4 weight_4 = read_imagef(weight, ws_border_zero, (int2)(at2 + 2, k0));
                    const float4 weight_5 = read_imagef(weight, ws_border_zero, (int2)(at2 + 3, k0));
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
        {
            const float4 value = acc0;
            write_imagef(output, (int2)(at0, at3), value);
        }
        {
            const float4 value = acc1;
            if (at0 + 1 < 9) write_imagef(output, (int2)(at0 + 1, at3), value);
        }
    }
}
