__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void conv2d_weight_tiles(
    const __global float* restrict weight,  // [864]
    __global float* restrict weight_tiles)  // [1536]
{
    const int gc = get_group_id(0);
    const int gk = get_group_id(1);
    const int gu = (int)get_group_id(2) % 1;
    const int gv = get_group_id(2);
    const int lc = get_local_id(0);
    const int lk = get_local_id(1);
    const int k0 = gk*8 + lk;
    const int c0 = gc*8 + lc;
    const int u0 = gu;
    const int v0 = gv;
    const int at0 = k0*72 + c0*9;
    const int at1 = u0*1536 + v0*384 + k0*8 + c0;
    if (k0 < 12) {
        float acc0 = 0.0f;
        float acc1 = 0.0f;
        float acc2 = 0.0f;
        float acc3 = 0.0f;
        float acc4 = 0.0f;
        float acc5 = 0.0f;
        float acc6 = 0.0f;
        float acc7 = 0.0f;
        float acc8 = 0.0f;
        float acc9 = 0.0f;
        float acc10 = 0.0f;
        float acc11 = 0.0f;
        float acc12 = 0.0f;
        float acc13 = 0.0f;
        float acc14 = 0.0f;
        float acc15 = 0.0f;
        {
            const float weight_0 = weight[at0];
            const float weight_1 = weight[(ptrdiff_t)at0 + 1];
            const float weight_2 = weight[(ptrdiff_t)at0 + 2];
            acc0 = fma(1.0f, weight_0, acc0);
            acc1 = fma(0.5f, weight_0, acc1);
            acc2 = fma(0.5f, weight_0, acc2);
            acc4 = fma(0.5f, weight_0, acc4);
            acc5 = fma(0.25f, weight_0, acc5);
            acc6 = fma(0.25f, weight_0, acc6);
            acc8 = fma(0.5f, weight_0, acc8);
            acc9 = fma(0.25f, weight_0, acc9);
            acc10 = fma(0.25f, weight_0, acc10);
            acc1 = fma(0.5f, weight_1, acc1);
            acc2 = fma(-0.5f, weight_1, acc2);
            acc5 = fma(0.25f, weight_1, acc5);
            acc6 = fma(-0.25f, weight_1, acc6);
            acc9 = fma(0.25f, weight_1, acc9);
            acc10 = fma(-0.25f, weight_1, acc10);
            acc1 = fma(0.5f, weight_2, acc1);
            acc2 = fma(0.5f, weight_2, acc2);
            acc3 = fma(1.0f, weight_2, acc3);
            acc5 = fma(0.25f, weight_2, acc5);
            acc6 = fma(0.25f, weight_2, acc6);
            acc7 = fma(0.5f, weight_2, acc7);
            acc9 = fma(0.25f, weight_2, acc9);
            acc10 = fma(0.25f, weight_2, acc10);
            acc11 = fma(0.5f, weight_2, acc11);
        }
        {
            const float weight_0 = weight[(ptrdiff_t)at0 + 3];
            const float weight_1 = weight[(ptrdiff_t)at0 + 4];
            const float weight_2 = weight[(ptrdiff_t)at0 + 5];
            acc4 = fma(0.5f, weight_0, acc4);
            acc5 = fma(0.25f, weight_0, acc5);
            acc6 = fma(0.25f, weight_0, acc6);
            acc8 = fma(-0.5f, weight_0, acc8);
            acc9 = fma(-0.25f, weight_0, acc9);
            acc10 = fma(-0.25f, weight_0, acc10);
            acc5 = fma(0.25f, weight_1, acc5);
            acc6 = fma(-0.25f, weight_1, acc6);
            acc9 = fma(-0.25f, weight_1, acc9);
            acc10 = fma(0.25f, weight_1, acc10);
            acc5 = fma(0.25f, weight_2, acc5);
            acc6 = fma(0.25f, weight_2, acc6);
            acc7 = fma(0.5f, weight_2, acc7);
            acc9 = fma(-0.25f, weight_2, acc9);
            acc10 = fma(-0.25f, weight_2, acc10);
            acc11 = fma(-0.5f, weight_2, acc11);
        }
        {
            const float weight_0 = weight[(ptrdiff_t)at0 + 6];
            const float weight_1 = weight[(ptrdiff_t)at0 + 7];
            const float weight_2 = weight[(ptrdiff_t)at0 + 8];
            acc4 = fma(0.5f, weight_0, acc4);
            acc5 = fma(0.25f, weight_0, acc5);
            acc6 = fma(0.25f, weight_0, acc6);
            acc8 = fma(0.5f, weight_0, acc8);
            acc9 = fma(0.25f, weight_0, acc9);
            acc10 = fma(0.25f, weight_0, acc10);
            acc12 = fma(1.0f, weight_0, acc12);
            acc13 = fma(0.5f, weight_0, acc13);
            acc14 = fma(0.5f, weight_0, acc14);
            acc5 = fma(0.25f, weight_1, acc5);
            acc6 = fma(-0.25f, weight_1, acc6);
            acc9 = fma(0.25f, weight_1, acc9);
            acc10 = fma(-0.25f, weight_1, acc10);
            acc13 = fma(0.5f, weight_1, acc13);
            acc14 = fma(-0.5f, weight_1, acc14);
            acc5 = fma(0.25f, weight_2, acc5);
            acc6 = fma(0.25f, weight_2, acc6);
            acc7 = fma(0.5f, weight_2, acc7);
            acc9 = fma(0.25f, weight_2, acc9);
            acc10 = fma(0.25f, weight_2, acc10);
            acc11 = fma(0.5f, weight_2, acc11);
            acc13 = fma(0.5f, weight_2, acc13);
            acc14 = fma(0.5f, weight_2, acc14);
            acc15 = fma(1.0f, weight_2, acc15);
        }
        {
            const float value = acc0;
            weight_tiles[at1] = value;
        }
        {
            const float value = acc1;
            weight_tiles[(ptrdiff_t)at1 + 96] = value;
        }
        {
            const float value = acc2;
            weight_tiles[(ptrdiff_t)at1 + 192] = value;
        }
        {
            const float value = acc3;
            weight_tiles[(ptrdiff_t)at1 + 288] = value;
        }
        {
            const float value = acc4;
            weight_tiles[(ptrdiff_t)at1 + 384] = value;
        }
        {
            const float value = acc5;
            weight_tiles[(ptrdiff_t)at1 + 480] = value;
        }
        {
            const float value = acc6;
            weight_tiles[(ptrdiff_t)at1 + 576] = value;
        }
        {
            const float value = acc7;
            weight_tiles[(ptrdiff_t)at1 + 672] = value;
        }
        {
            const float value = acc8;
            weight_tiles[(ptrdiff_t)at1 + 768] = value;
        }
        {
            const float value = acc9;
            weight_tiles[(ptrdiff_t)at1 + 864] = value;
        }
        {
            const float value = acc10;
            weight_tiles[(ptrdiff_t)at1 + 960] = value;
        }
        {
            const float value = acc11;
            weight_tiles[(ptrdiff_t)at1 + 1056] = value;
        }
        {
            const float value = acc12;
            weight_tiles[(ptrdiff_t)at1 + 1152] = value;
        }
        {
            const float value = acc13;
            weight_tiles[(ptrdiff_t)at1 + 1248] = value;
        }
        {
            const float value = acc14;
            weight_tiles[(ptrdiff_t)at1 + 1344] = value;
        }
        {
            const float value = acc15;
            weight_tiles[(ptrdiff_t)at1 + 1440] = value;
        }
    }
}
