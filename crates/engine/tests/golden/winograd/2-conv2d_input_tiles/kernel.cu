extern "C" __global__ void __launch_bounds__(16) conv2d_input_tiles(
    const unsigned long long input,  // 13 x 14 texels, float RGBA
    const unsigned long long input_tiles)  // 28 x 32 texels, float RGBA
{
    const int gc = blockIdx.x;
    const int gx = blockIdx.y;
    const int gy = (int)blockIdx.z % 4;
    const int gu = (int)blockIdx.z / 4 % 1;
    const int gv = (int)blockIdx.z / 4;
    const int lc = threadIdx.x;
    const int lx = threadIdx.y;
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
        ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc1 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc2 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc3 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc4 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc5 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc6 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc7 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc8 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc9 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc10 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc11 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc12 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc13 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc14 = ws_splat<4>(0.0f);
        ws_vec<float, 4> acc15 = ws_splat<4>(0.0f);
        {
            ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
            if (at2 - 1 >= 0 && (unsigned)(at0 - 1) < 13u) input_0 = ws_texel<float>(input, at0 - 1, at1 - 1);
            ws_vec<float, 4> input_1 = ws_vec<float, 4>{};
            if (at2 - 1 >= 0) input_1 = ws_texel<float>(input, at0, at1 - 1);
            ws_vec<float, 4> input_2 = ws_vec<float, 4>{};
            if (at2 - 1 >= 0 && at0 + 1 < 13) input_2 = ws_texel<float>(input, at0 + 1, at1 - 1);
            ws_vec<float, 4> input_3 = ws_vec<float, 4>{};
            if (at2 - 1 >= 0 && at0 + 2 < 13) input_3 = ws_texel<float>(input, at0 + 2, at1 - 1);
            acc0 = ws_fma(ws_splat<4>(1.0f), input_0, acc0);
            acc1 = ws_fma(ws_splat<4>(1.0f), input_1, acc1);
            acc2 = ws_fma(ws_splat<4>(-1.0f), input_1, acc2);
            acc3 = ws_fma(ws_splat<4>(1.0f), input_1, acc3);
            acc0 = ws_fma(ws_splat<4>(-1.0f), input_2, acc0);
            acc1 = ws_fma(ws_splat<4>(1.0f), input_2, acc1);
            acc2 = ws_fma(ws_splat<4>(1.0f), input_2, acc2);
            acc3 = ws_fma(ws_splat<4>(-1.0f), input_3, acc3);
        }
        {
            ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
            if ((unsigned)(at0 - 1) < 13u) input_0 = ws_texel<float>(input, at0 - 1, at1);
            const ws_vec<float, 4> input_1 = ws_texel<float>(input, at0, at1);
            ws_vec<float, 4> input_2 = ws_vec<float, 4>{};
            if (at0 + 1 < 13) input_2 = ws_texel<float>(input, at0 + 1, at1);
            ws_vec<float, 4> input_3 = ws_vec<float, 4>{};
            if (at0 + 2 < 13) input_3 = ws_texel<float>(input, at0 + 2, at1);
            acc4 = ws_fma(ws_splat<4>(1.0f), input_0, acc4);
            acc8 = ws_fma(ws_splat<4>(-1.0f), input_0, acc8);
            acc12 = ws_fma(ws_splat<4>(1.0f), input_0, acc12);
            acc5 = ws_fma(ws_splat<4>(1.0f), input_1, acc5);
            acc6 = ws_fma(ws_splat<4>(-1.0f), input_1, acc6);
            acc7 = ws_fma(ws_splat<4>(1.0f), input_1, acc7);
            acc9 = ws_fma(ws_splat<4>(-1.0f), input_1, acc9);
            acc10 = ws_fma(ws_splat<4>(1.0f), input_1, acc10);
            acc11 = ws_fma(ws_splat<4>(-1.0f), input_1, acc11);
            acc13 = ws_fma(ws_splat<4>(1.0f), input_1, acc13);
            acc14 = ws_fma(ws_splat<4>(-1.0f), input_1, acc14);
            acc15 = ws_fma(ws_splat<4>(1.0f), input_1, acc15);
            acc4 = ws_fma(ws_splat<4>(-1.0f), input_2, acc4);
            acc5 = ws_fma(ws_splat<4>(1.0f), input_2, acc5);
            acc6 = ws_fma(ws_splat<4>(1.0f), input_2, acc6);
            acc8 = ws_fma(ws_splat<4>(1.0f), input_2, acc8);
            acc9 = ws_fma(ws_splat<4>(-1.0f), input_2, acc9);
            acc10 = ws_fma(ws_splat<4>(-1.0f), input_2, acc10);
            acc12 = ws_fma(ws_splat<4>(-1.0f), input_2, acc12);
            acc13 = ws_fma(ws_splat<4>(1.0f), input_2, acc13);
            acc14 = ws_fma(ws_splat<4>(1.0f), input_2, acc14);
            acc7 = ws_fma(ws_splat<4>(-1.0f), input_3, acc7);
            acc11 = ws_fma(ws_splat<4>(1.0f), input_3, acc11);
            acc15 = ws_fma(ws_splat<4>(-1.0f), input_3, acc15);
        }
        {
            ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
            if (at2 + 1 < 7 && (unsigned)(at0 - 1) < 13u) input_0 = ws_texel<float>(input, at0 - 1, at1 + 1);
            ws_vec<float, 4> input_1 = ws_vec<float, 4>{};
            if (at2 + 1 < 7) input_1 = ws_texel<float>(input, at0, at1 + 1);
            ws_vec<float, 4> input_2 = ws_vec<float, 4>{};
            if (at2 + 1 < 7 && at0 + 1 < 13) input_2 = ws_texel<float>(input, at0 + 1, at1 + 1);
            ws_vec<float, 4> input_3 = ws_vec<float, 4>{};
            if (at2 + 1 < 7 && at0 + 2 < 13) input_3 = ws_texel<float>(input, at0 + 2, at1 + 1);
            acc0 = ws_fma(ws_splat<4>(-1.0f), input_0, acc0);
            acc4 = ws_fma(ws_splat<4>(1.0f), input_0, acc4);
            acc8 = ws_fma(ws_splat<4>(1.0f), input_0, acc8);
            acc1 = ws_fma(ws_splat<4>(-1.0f), input_1, acc1);
            acc2 = ws_fma(ws_splat<4>(1.0f), input_1, acc2);
            acc3 = ws_fma(ws_splat<4>(-1.0f), input_1, acc3);
            acc5 = ws_fma(ws_splat<4>(1.0f), input_1, acc5);
            acc6 = ws_fma(ws_splat<4>(-1.0f), input_1, acc6);
            acc7 = ws_fma(ws_splat<4>(1.0f), input_1, acc7);
            acc9 = ws_fma(ws_splat<4>(1.0f), input_1, acc9);
            acc10 = ws_fma(ws_splat<4>(-1.0f), input_1, acc10);
            acc11 = ws_fma(ws_splat<4>(1.0f), input_1, acc11);
            acc0 = ws_fma(ws_splat<4>(1.0f), input_2, acc0);
            acc1 = ws_fma(ws_splat<4>(-1.0f), input_2, acc1);
            acc2 = ws_fma(ws_splat<4>(-1.0f), input_2, acc2);
            acc4 = ws_fma(ws_splat<4>(-1.0f), input_2, acc4);
            acc5 = ws_fma(ws_splat<4>(1.0f), input_2, acc5);
            acc6 = ws_fma(ws_splat<4>(1.0f), input_2, acc6);
            acc8 = ws_fma(ws_splat<4>(-1.0f), input_2, acc8);
            acc9 = ws_fma(ws_splat<4>(1.0f), input_2, acc9);
            acc10 = ws_fma(ws_splat<4>(1.0f), input_2, acc10);
            acc3 = ws_fma(ws_splat<4>(1.0f), input_3, acc3);
            acc7 = ws_fma(ws_splat<4>(-1.0f), input_3, acc7);
            acc11 = ws_fma(ws_splat<4>(-1.0f), input_3, acc11);
        }
        {
            ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
            if (at2 + 2 < 7 && (unsigned)(at0 - 1) < 13u) input_0 = ws_texel<float>(input, at0 - 1, at1 + 2);
            ws_vec<float, 4> input_1 = ws_vec<float, 4>{};
            if (at2 + 2 < 7) input_1 = ws_texel<float>(input, at0, at1 + 2);
            ws_vec<float, 4> input_2 = ws_vec<float, 4>{};
            if (at2 + 2 < 7 && at0 + 1 < 13) input_2 = ws_texel<float>(input, at0 + 1, at1 + 2);
            ws_vec<float, 4> input_3 = ws_vec<float, 4>{};
            if (at2 + 2 < 7 && at0 + 2 < 13) input_3 = ws_texel<float>(input, at0 + 2, at1 + 2);
            acc12 = ws_fma(ws_splat<4>(-1.0f), input_0, acc12);
            acc13 = ws_fma(ws_splat<4>(-1.0f), input_1, acc13);
            acc14 = ws_fma(ws_splat<4>(1.0f), input_1, acc14);
            acc15 = ws_fma(ws_splat<4>(-1.0f), input_1, acc15);
            acc12 = ws_fma(ws_splat<4>(1.0f), input_2, acc12);
            acc13 = ws_fma(ws_splat<4>(-1.0f), input_2, acc13);
            acc14 = ws_fma(ws_splat<4>(-1.0f), input_2, acc14);
            acc15 = ws_fma(ws_splat<4>(1.0f), input_3, acc15);
        }
        {
            const ws_vec<float, 4> value = acc0;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4, value);
        }
        {
            const ws_vec<float, 4> value = acc1;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 2, value);
        }
        {
            const ws_vec<float, 4> value = acc2;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 4, value);
        }
        {
            const ws_vec<float, 4> value = acc3;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 6, value);
        }
        {
            const ws_vec<float, 4> value = acc4;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 8, value);
        }
        {
            const ws_vec<float, 4> value = acc5;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 10, value);
        }
        {
            const ws_vec<float, 4> value = acc6;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 12, value);
        }
        {
            const ws_vec<float, 4> value = acc7;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 14, value);
        }
        {
            const ws_vec<float, 4> value = acc8;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 16, value);
        }
        {
            const ws_vec<float, 4> value = acc9;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 18, value);
        }
        {
            const ws_vec<float, 4> value = acc10;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 20, value);
        }
        {
            const ws_vec<float, 4> value = acc11;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 22, value);
        }
        {
            const ws_vec<float, 4> value = acc12;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 24, value);
        }
        {
            const ws_vec<float, 4> value = acc13;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 26, value);
        }
        {
            const ws_vec<float, 4> value = acc14;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 28, value);
        }
        {
            const ws_vec<float, 4> value = acc15;
            ws_write_texel<ws_rgba32>(input_tiles, at3, at4 + 30, value);
        }
    }
}
