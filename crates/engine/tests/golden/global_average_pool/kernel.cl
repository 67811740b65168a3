#pragma OPENCL FP_CONTRACT OFF

__constant sampler_t ws_border_zero = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void global_average_pool(
    __read_only image2d_t input,  // 7 x 28 texels, float RGBA
    __write_only image2d_t output)  // 1 x 4 texels, float RGBA
{
    const int gc = get_group_id(0);
    const int lc = get_local_id(0);
    const int c0 = gc*4 + lc;
    float4 acc0 = (float4)(0.0f);
    const int at0 = c0*7;
#pragma unroll 1
    for (int r20 = 0; r20 < 7; ++r20) {
        const int at1 = at0 + r20;
#pragma unroll 1
        for (int r30 = 0; r30 < 7; ++r30) {
            {
                const float4 input_0 = read_imagef(input, ws_border_zero, (int2)(r30, at1));
                acc0 = acc0 + input_0;
            }
        }
    }
    {
        const float4 value = acc0 * 0.020408163f;
        write_imagef(output, (int2)(0, c0), value);
    }
}
