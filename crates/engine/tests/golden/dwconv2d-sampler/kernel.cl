__constant sampler_t ws_border_zero = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void dwconv2d(
    __read_only image2d_t input,  // 16 x 13 texels, float RGBA
    const __global float* restrict weight,  // [36]
    __write_only image2d_t output)  // 16 x 13 texels, float RGBA
{
    const int gx = get_group_id(0);
    const int gy = get_group_id(1);
    const int gc = get_group_id(2);
    const int lx = get_local_id(0);
    const int ly = get_local_id(1);
    const int c0 = gc;
    const int y0 = gy*8 + ly;
    const int x0 = gx*8 + lx;
    const int at0 = c0*13 + y0;
    const int at1 = c0*4;
    if (y0 < 13) {
        float4 acc0 = (float4)(0.0f);
        {
            const float4 input_0 = read_imagef(input, ws_border_zero, (int2)(x0 - 1, at0 - 1));
            const float4 weight_1 = (*(const __global float4*)(weight + at1));
            const float4 input_2 = read_imagef(input, ws_border_zero, (int2)(x0, at0 - 1));
            const float4 weight_3 = (*(const __global float4*)(weight + ((ptrdiff_t)at1 + 4)));
            const float4 input_4 = read_imagef(input, ws_border_zero, (int2)(x0 + 1, at0 - 1));
            const float4 weight_5 = (*(const __global float4*)(weight + ((ptrdiff_t)at1 + 8)));
            acc0 = fma(input_0, weight_1, acc0);
            acc0 = fma(input_2, weight_3, acc0);
            acc0 = fma(input_4, weight_5, acc0);
        }
        {
            const float4 input_0 = read_imagef(input, ws_border_zero, (int2)(x0 - 1, at0));
            const float4 weight_1 = (*(const __global float4*)(weight + ((ptrdiff_t)at1 + 12)));
            const float4 input_2 = read_imagef(input, ws_border_zero, (int2)(x0, at0));
            const float4 weight_3 = (*(const __global float4*)(weight + ((ptrdiff_t)at1 + 16)));
            const float4 input_4 = read_imagef(input, ws_border_zero, (int2)(x0 + 1, at0));
            const float4 weight_5 = (*(const __global float4*)(weight + ((ptrdiff_t)at1 + 20)));
            acc0 = fma(input_0, weight_1, acc0);
            acc0 = fma(input_2, weight_3, acc0);
            acc0 = fma(input_4, weight_5, acc0);
        }
        {
            const float4 input_0 = read_imagef(input, ws_border_zero, (int2)(x0 - 1, at0 + 1));
            const float4 weight_1 = (*(const __global float4*)(weight + ((ptrdiff_t)at1 + 24)));
            const float4 input_2 = read_imagef(input, ws_border_zero, (int2)(x0, at0 + 1));
            const float4 weight_3 = (*(const __global float4*)(weight + ((ptrdiff_t)at1 + 28)));
            const float4 input_4 = read_imagef(input, ws_border_zero, (int2)(x0 + 1, at0 + 1));
            const float4 weight_5 = (*(const __global float4*)(weight + ((ptrdiff_t)at1 + 32)));
            acc0 = fma(input_0, weight_1, acc0);
            acc0 = fma(input_2, weight_3, acc0);
            acc0 = fma(input_4, weight_5, acc0);
        }
        {
            const float4 value = acc0;
            write_imagef(output, (int2)(x0, at0), value);
        }
    }
}
