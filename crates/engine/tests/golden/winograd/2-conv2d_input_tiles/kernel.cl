__constant sampler_t ws_border_zero = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel __attribute__((reqd_work_group_size(2, 8, 1)))
void conv2d_input_tiles(
    __read_only image2d_t input,  // 13 x 14 texels, float RGBA
    __write_only image2d_t input_tiles)  // 28 x 32 texels, float RGBA
{
    const int gc = get_group_id(0);
    const int gx = get_group_id(1);
    const int gy = (int)get_group_id(2) % 4;
    const int gu = (int)get_group_id(2) / 4 % 1;
    const int gv = (int)get_group_id(2) / 4;
    const int lc = get_local_id(0);
    const int lx = get_local_id(1);
    const int c0 = gc*2 + lc;
    const int y0 = gy;
    const int x0 = gx*8 + lx;
    const int u0 = gu;
    const int v0 = gv;
    const int at0 = x0*2;
    const int at1 = c0*7 + y0*2;
    const int at2 = y0*2;
    const int at3 = y0*7 + x0;
    const int at4 = c0 + u0*32 + v0*8;
    if (x0 < 7) {
        float4 acc0 = (float4)(0.0f);
        float4 acc1 = (float4)(0.0f);
        float4 acc2 = (float4)(0.0f);
        float4 acc3 = (float4)(0.0f);
        float4 acc4 = (float4)(0.0f);
        float4 acc5 = (float4)(0.0f);
        float4 acc6 = (float4)(0.0f);
        float4 acc7 = (float4)(0.0f);
        float4 acc8 = (float4)(0.0f);
        float4 acc9 = (float4)(0.0f);
        float4 acc10 = (float4)(0.0f);
        float4 acc11 = (float4)(0.0f);
        float4 acc12 = (float4)(0.0f);
        float4 acc13 = (float4)(0.0f);
        float4 acc14 = (float4)(0.0f);
        float4 acc15 = (float4)(0.0f);
        {
            float4 input_0 = (float4)(0.0f);
            if (at2 - 1 >= 0 && (uint)(at0 - 1) < 13u) input_0 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at1 - 1));
            float4 input_1 = (float4)(0.0f);
            if (at2 - 1 >= 0) input_1 = read_imagef(input, ws_border_zero, (int2)(at0, at1 - 1));
            float4 input_2 = (float4)(0.0f);
            if (at2 - 1 >= 0 && at0 + 1 < 13) input_2 = read_imagef(input, ws_border_zero, (int2)(at0 + 1, at1 - 1));
            float4 input_3 = (float4)(0.0f);
            if (at2 - 1 >= 0 && at0 + 2 < 13) input_3 = read_imagef(input, ws_border_zero, (int2)(at0 + 2, at1 - 1));
            acc0 = fma((float4)(1.0f), input_0, acc0);
            acc1 = fma((float4)(1.0f), input_1, acc1);
            acc2 = fma((float4)(-1.0f), input_1, acc2);
            acc3 = fma((float4)(1.0f), input_1, acc3);
            acc0 = fma((float4)(-1.0f), input_2, acc0);
            acc1 = fma((float4)(1.0f), input_2, acc1);
            acc2 = fma((float4)(1.0f), input_2, acc2);
            acc3 = fma((float4)(-1.0f), input_3, acc3);
        }
        {
            float4 input_0 = (float4)(0.0f);
            if ((uint)(at0 - 1) < 13u) input_0 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at1));
            const float4 input_1 = read_imagef(input, ws_border_zero, (int2)(at0, at1));
            float4 input_2 = (float4)(0.0f);
            if (at0 + 1 < 13) input_2 = read_imagef(input, ws_border_zero, (int2)(at0 + 1, at1));
            float4 input_3 = (float4)(0.0f);
            if (at0 + 2 < 13) input_3 = read_imagef(input, ws_border_zero, (int2)(at0 + 2, at1));
            acc4 = fma((float4)(1.0f), input_0, acc4);
            acc8 = fma((float4)(-1.0f), input_0, acc8);
            acc12 = fma((float4)(1.0f), input_0, acc12);
            acc5 = fma((float4)(1.0f), input_1, acc5);
            acc6 = fma((float4)(-1.0f), input_1, acc6);
            acc7 = fma((float4)(1.0f), input_1, acc7);
            acc9 = fma((float4)(-1.0f), input_1, acc9);
            acc10 = fma((float4)(1.0f), input_1, acc10);
            acc11 = fma((float4)(-1.0f), input_1, acc11);
            acc13 = fma((float4)(1.0f), input_1, acc13);
            acc14 = fma((float4)(-1.0f), input_1, acc14);
            acc15 = fma((float4)(1.0f), input_1, acc15);
            acc4 = fma((float4)(-1.0f), input_2, acc4);
            acc5 = fma((float4)(1.0f), input_2, acc5);
            acc6 = fma((float4)(1.0f), input_2, acc6);
            acc8 = fma((float4)(1.0f), input_2, acc8);
            acc9 = fma((float4)(-1.0f), input_2, acc9);
            acc10 = fma((float4)(-1.0f), input_2, acc10);
            acc12 = fma((float4)(-1.0f), input_2, acc12);
            acc13 = fma((float4)(1.0f), input_2, acc13);
            acc14 = fma((float4)(1.0f), input_2, acc14);
            acc7 = fma((float4)(-1.0f), input_3, acc7);
            acc11 = fma((float4)(1.0f), input_3, acc11);
            acc15 = fma((float4)(-1.0f), input_3, acc15);
        }
        {
            float4 input_0 = (float4)(0.0f);
            if (at2 + 1 < 7 && (uint)(at0 - 1) < 13u) input_0 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at1 + 1));
            float4 input_1 = (float4)(0.0f);
            if (at2 + 1 < 7) input_1 = read_imagef(input, ws_border_zero, (int2)(at0, at1 + 1));
            float4 input_2 = (float4)(0.0f);
            if (at2 + 1 < 7 && at0 + 1 < 13) input_2 = read_imagef(input, ws_border_zero, (int2)(at0 + 1, at1 + 1));
            float4 input_3 = (float4)(0.0f);
            if (at2 + 1 < 7 && at0 + 2 < 13) input_3 = read_imagef(input, ws_border_zero, (int2)(at0 + 2, at1 + 1));
            acc0 = fma((float4)(-1.0f), input_0, acc0);
            acc4 = fma((float4)(1.0f), input_0, acc4);
            acc8 = fma((float4)(1.0f), input_0, acc8);
            acc1 = fma((float4)(-1.0f), input_1, acc1);
            acc2 = fma((float4)(1.0f), input_1, acc2);
            acc3 = fma((float4)(-1.0f), input_1, acc3);
            acc5 = fma((float4)(1.0f), input_1, acc5);
            acc6 = fma((float4)(-1.0f), input_1, acc6);
            acc7 = fma((float4)(1.0f), input_1, acc7);
            acc9 = fma((float4)(1.0f), input_1, acc9);
            acc10 = fma((float4)(-1.0f), input_1, acc10);
            acc11 = fma((float4)(1.0f), input_1, acc11);
            acc0 = fma((float4)(1.0f), input_2, acc0);
            acc1 = fma((float4)(-1.0f), input_2, acc1);
            acc2 = fma((float4)(-1.0f), input_2, acc2);
            acc4 = fma((float4)(-1.0f), input_2, acc4);
            acc5 = fma((float4)(1.0f), input_2, acc5);
            acc6 = fma((float4)(1.0f), input_2, acc6);
            acc8 = fma((float4)(-1.0f), input_2, acc8);
            acc9 = fma((float4)(1.0f), input_2, acc9);
            acc10 = fma((float4)(1.0f), input_2, acc10);
            acc3 = fma((float4)(1.0f), input_3, acc3);
            acc7 = fma((float4)(-1.0f), input_3, acc7);
            acc11 = fma((float4)(-1.0f), input_3, acc11);
        }
        {
            float4 input_0 = (float4)(0.0f);
            if (at2 + 2 < 7 && (uint)(at0 - 1) < 13u) input_0 = read_imagef(input, ws_border_zero, (int2)(at0 - 1, at1 + 2));
            float4 input_1 = (float4)(0.0f);
            if (at2 + 2 < 7) input_1 = read_imagef(input, ws_border_zero, (int2)(at0, at1 + 2));
            float4 input_2 = (float4)(0.0f);
            if (at2 + 2 < 7 && at0 + 1 < 13) input_2 = read_imagef(input, ws_border_zero, (int2)(at0 + 1, at1 + 2));
            float4 input_3 = (float4)(0.0f);
            if (at2 + 2 < 7 && at0 + 2 < 13) input_3 = read_imagef(input, ws_border_zero, (int2)(at0 + 2, at1 + 2));
            acc12 = fma((float4)(-1.0f), input_0, acc12);
            acc13 = fma((float4)(-1.0f), input_1, acc13);
            acc14 = fma((float4)(1.0f), input_1, acc14);
            acc15 = fma((float4)(-1.0f), input_1, acc15);
            acc12 = fma((float4)(1.0f), input_2, acc12);
            acc13 = fma((float4)(-1.0f), input_2, acc13);
            acc14 = fma((float4)(-1.0f), input_2, acc14);
            acc15 = fma((float4)(1.0f), input_3, acc15);
        }
        {
            const float4 value = acc0;
            write_imagef(input_tiles, (int2)(at3, at4), value);
        }
        {
            const float4 value = acc1;
            write_imagef(input_tiles, (int2)(at3, at4 + 2), value);
        }
        {
            const float4 value = acc2;
            write_imagef(input_tiles, (int2)(at3, at4 + 4), value);
        }
        {
            const float4 value = acc3;
            write_imagef(input_tiles, (int2)(at3, at4 + 6), value);
        }
        {
            const float4 value = acc4;
            write_imagef(input_tiles, (int2)(at3, at4 + 8), value);
        }
        {
            const float4 value = acc5;
            write_imagef(input_tiles, (int2)(at3, at4 + 10), value);
        }
        {
            const float4 value = acc6;
            write_imagef(input_tiles, (int2)(at3, at4 + 12), value);
        }
        {
            const float4 value = acc7;
            write_imagef(input_tiles, (int2)(at3, at4 + 14), value);
        }
        {
            const float4 value = acc8;
            write_imagef(input_tiles, (int2)(at3, at4 + 16), value);
        }
        {
            const float4 value = acc9;
            write_imagef(input_tiles, (int2)(at3, at4 + 18), value);
        }
        {
            const float4 value = acc10;
            write_imagef(input_tiles, (int2)(at3, at4 + 20), value);
        }
        {
            const float4 value = acc11;
            write_imagef(input_tiles, (int2)(at3, at4 + 22), value);
        }
        {
            const float4 value = acc12;
            write_imagef(input_tiles, (int2)(at3, at4 + 24), value);
        }
        {
            const float4 value = acc13;
            write_imagef(input_tiles, (int2)(at3, at4 + 26), value);
        }
        {
            const float4 value = acc14;
            write_imagef(input_tiles, (int2)(at3, at4 + 28), value);
        }
        {
            const float4 value = acc15;
            write_imagef(input_tiles, (int2)(at3, at4 + 30), value);
        }
    }
}
