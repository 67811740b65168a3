__constant sampler_t ws_border_zero = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void conv2d_output_tiles(
    __read_only image2d_t weight_tiles,  // 128 x 3 texels, float RGBA
    __read_only image2d_t input_tiles,  // 28 x 32 texels, float RGBA
    __write_only image2d_t output_tiles)  // 28 x 48 texels, float RGBA
{
    const int gt = get_group_id(0);
    const int gu = get_group_id(1);
    const int gk = get_group_id(2);
    const int lt = get_local_id(0);
    const int lu = get_local_id(1);
    const int u0 = gu*8 + lu;
    const int k0 = gk;
    const int t0 = gt*8 + lt;
    const int at0 = t0*2;
    const int at1 = u0*2;
    const int at3 = u0*8;
    const int at5 = u0*3 + k0;
    if (t0 < 14) {
        float4 acc0 = (float4)(0.0f);
        float4 acc1 = (float4)(0.0f);
#pragma unroll 1
        for (int c0 = 0; c0 < 2; ++c0) {
            const int at2 = at1 + c0;
            const int at4 = at3 + c0*4;
            {
                const float4 input_tiles_0 = read_imagef(input_tiles, ws_border_zero, (int2)(at0, at2));
                const float4 input_tiles_1 = read_imagef(input_tiles, ws_border_zero, (int2)(at0 + 1, at2));
                const float4 weight_tiles_2 = read_imagef(weight_tiles, ws_border_zero, (int2)(at4, k0));
                const float4 weight_tiles_3 = read_imagef(weight_tiles, ws_border_zero, (int2)(at4 + 1, k0));
                const float4 weight_tiles_4 = read_imagef(weight_tiles, ws_border_zero, (int2)(at4 + 2, k0));
                const float4 weight_tiles_5 = read_imagef(weight_tiles, ws_border_zero, (int2)(at4 + 3, k0));
                acc0 = fma((float4)(input_tiles_0.s0), weight_tiles_2, acc0);
                acc1 = fma((float4)(input_tiles_1.s0), weight_tiles_2, acc1);
                acc0 = fma((float4)(input_tiles_0.s1), weight_tiles_3, acc0);
                acc1 = fma((float4)(input_tiles_1.s1), weight_tiles_3, acc1);
                acc0 = fma((float4)(input_tiles_0.s2), weight_tiles_4, acc0);
                acc1 = fma((float4)(input_tiles_1.s2), weight_tiles_4, acc1);
                acc0 = fma((float4)(input_tiles_0.s3), weight_tiles_5, acc0);
                acc1 = fma((float4)(input_tiles_1.s3), weight_tiles_5, acc1);
            }
        }
        {
            const float4 value = acc0;
            write_imagef(output_tiles, (int2)(at0, at5), value);
        }
        {
            const float4 value = acc1;
            write_imagef(output_tiles, (int2)(at0 + 1, at5), value);
        }
    }
}
