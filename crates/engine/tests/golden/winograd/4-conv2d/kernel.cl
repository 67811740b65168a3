__kernel __attribute__((reqd_work_group_size(4, 16, 1)))
void conv2d(
    const __global float* restrict output_tiles,  // [5376]
    __global float* restrict output)  // [1092]
{
    const int gx = get_group_id(0);
    const int gk = get_group_id(1);
    const int gy = (int)get_group_id(2) % 4;
    const int gi = (int)get_group_id(2) / 4 % 1;
    const int gj = (int)get_group_id(2) / 4;
    const int lx = get_local_id(0);
    const int lk = get_local_id(1);
    const int k0 = gk*16 + lk;
    const int y0 = gy;
    const int x0 = gx*4 + lx;
    const int i0 = gi;
    const int j0 = gj;
    const int at0 = k0*28 + y0*7 + x0;
    const int at1 = k0*91 + y0*26 + i0*26 + x0*2 + j0*2;
    const int at2 = x0*2 + j0*2;
    const int at3 = y0*2 + i0*2;
    if (k0 < 12 && x0 < 7) {
        float acc0 = 0.0f;
        float acc1 = 0.0f;
        float acc2 = 0.0f;
        float acc3 = 0.0f;
        {
            const float output_tiles_0 = output_tiles[at0];
            const float output_tiles_1 = output_tiles[(ptrdiff_t)at0 + 336];
            const float output_tiles_2 = output_tiles[(ptrdiff_t)at0 + 672];
            const float output_tiles_3 = output_tiles[(ptrdiff_t)at0 + 1008];
            acc0 = fma(1.0f, output_tiles_0, acc0);
            acc0 = fma(1.0f, output_tiles_1, acc0);
            acc1 = fma(1.0f, output_tiles_1, acc1);
            acc0 = fma(1.0f, output_tiles_2, acc0);
            acc1 = fma(-1.0f, output_tiles_2, acc1);
            acc1 = fma(-1.0f, output_tiles_3, acc1);
        }
        {
            const float output_tiles_0 = output_tiles[(ptrdiff_t)at0 + 1344];
            const float output_tiles_1 = output_tiles[(ptrdiff_t)at0 + 1680];
            const float output_tiles_2 = output_tiles[(ptrdiff_t)at0 + 2016];
            const float output_tiles_3 = output_tiles[(ptrdiff_t)at0 + 2352];
            acc0 = fma(1.0f, output_tiles_0, acc0);
            acc2 = fma(1.0f, output_tiles_0, acc2);
            acc0 = fma(1.0f, output_tiles_1, acc0);
            acc1 = fma(1.0f, output_tiles_1, acc1);
            acc2 = fma(1.0f, output_tiles_1, acc2);
            acc3 = fma(1.0f, output_tiles_1, acc3);
            acc0 = fma(1.0f, output_tiles_2, acc0);
            acc1 = fma(-1.0f, output_tiles_2, acc1);
            acc2 = fma(1.0f, output_tiles_2, acc2);
            acc3 = fma(-1.0f, output_tiles_2, acc3);
            acc1 = fma(-1.0f, output_tiles_3, acc1);
            acc3 = fma(-1.0f, output_tiles_3, acc3);
        }
        {
            const float output_tiles_0 = output_tiles[(ptrdiff_t)at0 + 2688];
            const float output_tiles_1 = output_tiles[(ptrdiff_t)at0 + 3024];
            const float output_tiles_2 = output_tiles[(ptrdiff_t)at0 + 3360];
            const float output_tiles_3 = output_tiles[(ptrdiff_t)at0 + 3696];
            acc0 = fma(1.0f, output_tiles_0, acc0);
            acc2 = fma(-1.0f, output_tiles_0, acc2);
            acc0 = fma(1.0f, output_tiles_1, acc0);
            acc1 = fma(1.0f, output_tiles_1, acc1);
            acc2 = fma(-1.0f, output_tiles_1, acc2);
            acc3 = fma(-1.0f, output_tiles_1, acc3);
            acc0 = fma(1.0f, output_tiles_2, acc0);
            acc1 = fma(-1.0f, output_tiles_2, acc1);
            acc2 = fma(-1.0f, output_tiles_2, acc2);
            acc3 = fma(1.0f, output_tiles_2, acc3);
            acc1 = fma(-1.0f, output_tiles_3, acc1);
            acc3 = fma(1.0f, output_tiles_3, acc3);
        }
        {
            const float output_tiles_0 = output_tiles[(ptrdiff_t)at0 + 4032];
            const float output_tiles_1 = output_tiles[(ptrdiff_t)at0 + 4368];
            const float output_tiles_2 = output_tiles[(ptrdiff_t)at0 + 4704];
            const float output_tiles_3 = output_tiles[(ptrdiff_t)at0 + 5040];
            acc2 = fma(-1.0f, output_tiles_0, acc2);
            acc2 = fma(-1.0f, output_tiles_1, acc2);
            acc3 = fma(-1.0f, output_tiles_1, acc3);
            acc2 = fma(-1.0f, output_tiles_2, acc2);
            acc3 = fma(1.0f, output_tiles_2, acc3);
            acc3 = fma(1.0f, output_tiles_3, acc3);
        }
        {
            const float value = acc0;
            output[at1] = value;
        }
        {
            const float value = acc1;
            if (at2 + 1 < 13) output[(ptrdiff_t)at1 + 1] = value;
        }
        {
            const float value = acc2;
            if (at3 + 1 < 7) output[(ptrdiff_t)at1 + 13] = value;
        }
        {
            const float value = acc3;
            if (at3 + 1 < 7 && at2 + 1 < 13) output[(ptrdiff_t)at1 + 14] = value;
        }
    }
}
