extern "C" __global__ void __launch_bounds__(64) conv2d(
    const unsigned long long input,  // 15 x 39 texels, float RGBA
    const unsigned long long weight,  // 90 x 8 texels, float RGBA
    const unsigned long long output)  // 15 x 104 texels, float RGBA
{
    const int gx = blockIdx.x;
    const int gk = blockIdx.y;
    const int gy = blockIdx.z;
    const int lx = threadIdx.x;
    const int lk_0 = threadIdx.y;
    const int lk_1 = threadIdx.z;
    alignas(16) __shared__ float input_local[1 * 1 * 3 * 18 * 4];
    const int lk = lk_0 + lk_1*4;
    const int k0 = gk*8 + lk;
    const int y0 = gy;
    const int x0 = gx*8 + lx;
    ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
    ws_vec<float, 4> acc1 = ws_splat<4>(0.0f);
    const int at0 = gx*16 + lx + lk_0*8;
    const int at1 = gy + lk_1;
    const int at2 = lx + lk_0*8;
    const int at4 = lx*2;
    {
        ws_vec<float, 4> t0 = ws_vec<float, 4>{};
        if (at2 < 18 && at1 - 1 >= 0 && (unsigned)(at0 - 1) < 15u) t0 = ws_texel<float>(input, at0 - 1, at1 - 1);
        ws_vec<float, 4> copied0 = t0;
        ws_vec<float, 4> t1 = ws_vec<float, 4>{};
        if (lk_1 + 2 < 3 && at2 < 18 && at1 + 1 < 13 && (unsigned)(at0 - 1) < 15u) t1 = ws_texel<float>(input, at0 - 1, at1 + 1);
        ws_vec<float, 4> copied1 = t1;
#pragma unroll 1
        for (int c0 = 0; c0 < 2; ++c0) {
            __syncthreads();
            if (at2 < 18) ws_store<ws_back, 16>(input_local + (lk_1*18 + at2)*4, copied0);
            if (lk_1 + 2 < 3 && at2 < 18) ws_store<ws_back, 16>(input_local + ((lk_1 + 2)*18 + at2)*4, copied1);
            __syncthreads();
            const int at3 = at1 + c0*13;
            ws_vec<float, 4> t2 = ws_vec<float, 4>{};
            if (at2 < 18 && at1 - 1 >= 0 && (unsigned)(at0 - 1) < 15u && c0 + 1 < 2) t2 = ws_texel<float>(input, at0 - 1, at3 + 12);
            copied0 = t2;
            ws_vec<float, 4> t3 = ws_vec<float, 4>{};
            if (lk_1 + 2 < 3 && at2 < 18 && at1 + 1 < 13 && (unsigned)(at0 - 1) < 15u && c0 + 1 < 2) t3 = ws_texel<float>(input, at0 - 1, at3 + 14);
            copied1 = t3;
            const int at6 = c0*36;
#pragma unroll 1
            for (int r0 = 0; r0 < 3; ++r0) {
                const int at7 = at6 + r0*3;
#pragma unroll 1
                for (int s0 = 0; s0 < 3; ++s0) {
                    const int at5 = at4 + s0;
                    const int at8 = at7 + s0;
                    {
                        const ws_vec<float, 4> input_0 = ws_load<4, 16>(input_local + (r0*18 + at5)*4);
                        const ws_vec<float, 4> input_1 = ws_load<4, 16>(input_local + (r0*18 + at5 + 1)*4);
                        const ws_vec<float, 4> weight_2 = ws_texel<float>(weight, at8, k0);
                        const ws_vec<float, 4> weight_3 = ws_texel<float>(weight, at8 + 9, k0);
                        const ws_vec<float, 4> weight_4 = ws_texel<float>(weight, at8 + 18, k0);
                        const ws_vec<float, 4> weight_5 = ws_texel<float>(weight, at8 + 27, k0);
                        acc0 = ws_fma(ws_splat<4>(input_0[0]), weight_2, acc0);
                        acc1 = ws_fma(ws_splat<4>(input_1[0]), weight_2, acc1);
                        acc0 = ws_fma(ws_splat<4>(input_0[1]), weight_3, acc0);
                        acc1 = ws_fma(ws_splat<4>(input_1[1]), weight_3, acc1);
                        acc0 = ws_fma(ws_splat<4>(input_0[2]), weight_4, acc0);
                        acc1 = ws_fma(ws_splat<4>(input_1[2]), weight_4, acc1);
                        acc0 = ws_fma(ws_splat<4>(input_0[3]), weight_5, acc0);
                        acc1 = ws_fma(ws_splat<4>(input_1[3]), weight_5, acc1);
                    }
                }
            }
        }
    }
    __syncthreads();
    {
        ws_vec<float, 4> copied0 = ws_vec<float, 4>{};
        if (at2 < 18 && at1 - 1 >= 0 && (unsigned)(at0 - 1) < 15u) copied0 = ws_texel<float>(input, at0 - 1, at1 + 25);
        ws_vec<float, 4> copied1 = ws_vec<float, 4>{};
        if (lk_1 + 2 < 3 && at2 < 18 && at1 + 1 < 13 && (unsigned)(at0 - 1) < 15u) copied1 = ws_texel<float>(input, at0 - 1, at1 + 27);
        if (at2 < 18) ws_store<ws_back, 16>(input_local + (lk_1*18 + at2)*4, copied0);
        if (lk_1 + 2 < 3 && at2 < 18) ws_store<ws_back, 16>(input_local + ((lk_1 + 2)*18 + at2)*4, copied1);
    }
    __syncthreads();
#pragma unroll 1
    for (int r0 = 0; r0 < 3; ++r0) {
        const int at10 = r0*3;
#pragma unroll 1
        for (int s0 = 0; s0 < 3; ++s0) {
            const int at9 = at4 + s0;
            const int at11 = at10 + s0;
            {
                const ws_vec<float, 4> input_0 = ws_load<4, 16>(input_local + (r0*18 + at9)*4);
                const ws_vec<float, 4> input_1 = ws_load<4, 16>(input_local + (r0*18 + at9 + 1)*4);
                const ws_vec<float, 4> weight_2 = ws_texel<float>(weight, at11 + 72, k0);
                const ws_vec<float, 4> weight_3 = ws_texel<float>(weight, at11 + 81, k0);
                acc0 = ws_fma(ws_splat<4>(input_0[0]), weight_2, acc0);
                acc1 = ws_fma(ws_splat<4>(input_1[0]), weight_2, acc1);
                acc0 = ws_fma(ws_splat<4>(input_0[1]), weight_3, acc0);
                acc1 = ws_fma(ws_splat<4>(input_1[1]), weight_3, acc1);
            }
        }
    }
    const int at12 = x0*2;
    const int at13 = k0*13 + y0;
    {
        const ws_vec<float, 4> value = acc0;
        ws_write_texel<ws_rgba32>(output, at12, at13, value);
    }
    {
        const ws_vec<float, 4> value = acc1;
        if (at12 + 1 < 15) ws_write_texel<ws_rgba32>(output, at12 + 1, at13, value);
    }
}
