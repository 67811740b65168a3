extern "C" __global__ void __launch_bounds__(64) conv2d_weight_tiles(
    const float* __restrict__ weight,  // [864]
    float* __restrict__ weight_tiles)  // [1536]
{
    const int gc = blockIdx.x;
    const int gk = blockIdx.y;
    const int gu = (int)blockIdx.z % 1;
    const int gv = blockIdx.z;
    const int lc = threadIdx.x;
    const int lk = threadIdx.y;
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
            const float weight_1 = weight[at0 + 1];
            const float weight_2 = weight[at0 + 2];
            acc0 = ws_fma(1.0f, weight_0, acc0);
            acc1 = ws_fma(0.5f, weight_0, acc1);
            acc2 = ws_fma(0.5f, weight_0, acc2);
            acc4 = ws_fma(0.5f, weight_0, acc4);
            acc5 = ws_fma(0.25f, weight_0, acc5);
            acc6 = ws_fma(0.25f, weight_0, acc6);
            acc8 = ws_fma(0.5f, weight_0, acc8);
            acc9 = ws_fma(0.25f, weight_0, acc9);
            acc10 = ws_fma(0.25f, weight_0, acc10);
            acc1 = ws_fma(0.5f, weight_1, acc1);
            acc2 = ws_fma(-0.5f, weight_1, acc2);
            acc5 = ws_fma(0.25f, weight_1, acc5);
            acc6 = ws_fma(-0.25f, weight_1, acc6);
            acc9 = ws_fma(0.25f, weight_1, acc9);
            acc10 = ws_fma(-0.25f, weight_1, acc10);
            acc1 = ws_fma(0.5f, weight_2, acc1);
            acc2 = ws_fma(0.5f, weight_2, acc2);
            acc3 = ws_fma(1.0f, weight_2, acc3);
            acc5 = ws_fma(0.25f, weight_2, acc5);
            acc6 = ws_fma(0.25f, weight_2, acc6);
            acc7 = ws_fma(0.5f, weight_2, acc7);
            acc9 = ws_fma(0.25f, weight_2, acc9);
            acc10 = ws_fma(0.25f, weight_2, acc10);
            acc11 = ws_fma(0.5f, weight_2, acc11);
        }
        {
            const float weight_0 = weight[at0 + 3];
            const float weight_1 = weight[at0 + 4];
            const float weight_2 = weight[at0 + 5];
            acc4 = ws_fma(0.5f, weight_0, acc4);
            acc5 = ws_fma(0.25f, weight_0, acc5);
            acc6 = ws_fma(0.25f, weight_0, acc6);
            acc8 = ws_fma(-0.5f, weight_0, acc8);
            acc9 = ws_fma(-0.25f, weight_0, acc9);
            acc10 = ws_fma(-0.25f, weight_0, acc10);
            acc5 = ws_fma(0.25f, weight_1, acc5);
            acc6 = ws_fma(-0.25f, weight_1, acc6);
            acc9 = ws_fma(-0.25f, weight_1, acc9);
            acc10 = ws_fma(0.25f, weight_1, acc10);
            acc5 = ws_fma(0.25f, weight_2, acc5);
            acc6 = ws_fma(0.25f, weight_2, acc6);
            acc7 = ws_fma(0.5f, weight_2, acc7);
            acc9 = ws_fma(-0.25f, weight_2, acc9);
            acc10 = ws_fma(-0.25f, weight_2, acc10);
            acc11 = ws_fma(-0.5f, weight_2, acc11);
        }
        {
            const float weight_0 = weight[at0 + 6];
            const float weight_1 = weight[at0 + 7];
            const float weight_2 = weight[at0 + 8];
            acc4 = ws_fma(0.5f, weight_0, acc4);
            acc5 = ws_fma(0.25f, weight_0, acc5);
            acc6 = ws_fma(0.25f, weight_0, acc6);
            acc8 = ws_fma(0.5f, weight_0, acc8);
            acc9 = ws_fma(0.25f, weight_0, acc9);
            acc10 = ws_fma(0.25f, weight_0, acc10);
            acc12 = ws_fma(1.0f, weight_0, acc12);
            acc13 = ws_fma(0.5f, weight_0, acc13);
            acc14 = ws_fma(0.5f, weight_0, acc14);
            acc5 = ws_fma(0.25f, weight_1, acc5);
            acc6 = ws_fma(-0.25f, weight_1, acc6);
            acc9 = ws_fma(0.25f, weight_1, acc9);
            acc10 = ws_fma(-0.25f, weight_1, acc10);
            acc13 = ws_fma(0.5f, weight_1, acc13);
            acc14 = ws_fma(-0.5f, weight_1, acc14);
            acc5 = ws_fma(0.25f, weight_2, acc5);
            acc6 = ws_fma(0.25f, weight_2, acc6);
            acc7 = ws_fma(0.5f, weight_2, acc7);
            acc9 = ws_fma(0.25f, weight_2, acc9);
            acc10 = ws_fma(0.25f, weight_2, acc10);
            acc11 = ws_fma(0.5f, weight_2, acc11);
            acc13 = ws_fma(0.5f, weight_2, acc13);
            acc14 = ws_fma(0.5f, weight_2, acc14);
            acc15 = ws_fma(1.0f, weight_2, acc15);
        }
        {
            const float value = acc0;
            weight_tiles[at1] = value;
        }
        {
            const float value = acc1;
            weight_tiles[at1 + 96] = value;
        }
        {
            const float value = acc2;
            weight_tiles[at1 + 192] = value;
        }
        {
            const float value = acc3;
            weight_tiles[at1 + 288] = value;
        }
        {
            const float value = acc4;
            weight_tiles[at1 + 384] = value;
        }
        {
            const float value = acc5;
            weight_tiles[at1 + 480] = value;
        }
        {
            const float value = acc6;
            weight_tiles[at1 + 576] = value;
        }
        {
            const float value = acc7;
            weight_tiles[at1 + 672] = value;
        }
        {
            const float value = acc8;
            weight_tiles[at1 + 768] = value;
        }
        {
            const float value = acc9;
            weight_tiles[at1 + 864] = value;
        }
        {
            const float value = acc10;
            weight_tiles[at1 + 960] = value;
        }
        {
            const float value = acc11;
            weight_tiles[at1 + 1056] = value;
        }
        {
            const float value = acc12;
            weight_tiles[at1 + 1152] = value;
        }
        {
            const float value = acc13;
            weight_tiles[at1 + 1248] = value;
        }
        {
            const float value = acc14;
            weight_tiles[at1 + 1344] = value;
        }
        {
            const float value = acc15;
            weight_tiles[at1 + 1440] = value;
        }
    }
}
