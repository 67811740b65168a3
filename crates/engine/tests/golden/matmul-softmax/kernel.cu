extern "C" __global__ void __launch_bounds__(16) matmul_softmax(
    const float* __restrict__ left,  // [120]
    const float* __restrict__ right,  // [740]
    float* __restrict__ output_after)  // [222]
{
    const int gn = blockIdx.x;
    const int gm = blockIdx.y;
    const int ln = threadIdx.x;
    const int lm = threadIdx.y;
    alignas(16) __shared__ float partial_local[1 * 4 * 4 * 1];
    const int m0 = gm*4 + lm;
    const int n0 = gn*4 + ln;
    ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
    ws_vec<float, 4> acc1 = ws_splat<4>(0.0f);
    ws_vec<float, 4> acc2 = ws_splat<4>(0.0f);
    const int at0 = m0*20;
    const int at2 = n0*12;
    if (m0 <= 5 && at2 + 8 <= 33) {
#pragma unroll 1
        for (int k0 = 0; k0 < 5; ++k0) {
            const int at1 = at0 + k0*4;
            const int at3 = at2 + k0*148;
            {
                const float left_0 = left[at1];
                const ws_vec<float, 4> right_1 = ws_load<4, 16>(right + at3);
                const ws_vec<float, 4> right_2 = ws_load<4, 16>(right + (at3 + 4));
                const ws_vec<float, 4> right_3 = ws_load<4, 16>(right + (at3 + 8));
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
                acc1 = ws_fma(ws_splat<4>(left_0), right_2, acc1);
                acc2 = ws_fma(ws_splat<4>(left_0), right_3, acc2);
            }
            {
                const float left_0 = left[at1 + 1];
                const ws_vec<float, 4> right_1 = ws_load<4, 4>(right + (at3 + 37));
                const ws_vec<float, 4> right_2 = ws_load<4, 4>(right + (at3 + 41));
                const ws_vec<float, 4> right_3 = ws_load<4, 4>(right + (at3 + 45));
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
                acc1 = ws_fma(ws_splat<4>(left_0), right_2, acc1);
                acc2 = ws_fma(ws_splat<4>(left_0), right_3, acc2);
            }
            {
                const float left_0 = left[at1 + 2];
                const ws_vec<float, 4> right_1 = ws_load<4, 8>(right + (at3 + 74));
                const ws_vec<float, 4> right_2 = ws_load<4, 8>(right + (at3 + 78));
                const ws_vec<float, 4> right_3 = ws_load<4, 8>(right + (at3 + 82));
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
                acc1 = ws_fma(ws_splat<4>(left_0), right_2, acc1);
                acc2 = ws_fma(ws_splat<4>(left_0), right_3, acc2);
            }
            {
                const float left_0 = left[at1 + 3];
                const ws_vec<float, 4> right_1 = ws_load<4, 4>(right + (at3 + 111));
                const ws_vec<float, 4> right_2 = ws_load<4, 4>(right + (at3 + 115));
                const ws_vec<float, 4> right_3 = ws_load<4, 4>(right + (at3 + 119));
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
                acc1 = ws_fma(ws_splat<4>(left_0), right_2, acc1);
                acc2 = ws_fma(ws_splat<4>(left_0), right_3, acc2);
            }
        }
    } else {
#pragma unroll 1
        for (int k0 = 0; k0 < 5; ++k0) {
            const int at1 = at0 + k0*4;
            const int at3 = at2 + k0*148;
            {
                const float left_0 = (m0 < 6) ? left[at1] : 0.0f;
                ws_vec<float, 4> right_1 = ws_vec<float, 4>{};
                if (at2 <= 33) {
                    right_1 = ws_load<4, 16>(right + at3);
                } else {
                    right_1[0] = right[at3];
                    if (at2 + 1 < 37) right_1[1] = right[at3 + 1];
                    if (at2 + 2 < 37) right_1[2] = right[at3 + 2];
                    if (at2 + 3 < 37) right_1[3] = right[at3 + 3];
                }
                ws_vec<float, 4> right_2 = ws_vec<float, 4>{};
                const int t0 = at2 + 4;
                if (t0 <= 33) {
                    right_2 = ws_load<4, 16>(right + (at3 + 4));
                } else {
                    const int t1 = at3 + 4;
                    if (t0 < 37) right_2[0] = right[t1];
                    if (t0 + 1 < 37) right_2[1] = right[t1 + 1];
                    if (t0 + 2 < 37) right_2[2] = right[t1 + 2];
                    if (t0 + 3 < 37) right_2[3] = right[t1 + 3];
                }
                ws_vec<float, 4> right_3 = ws_vec<float, 4>{};
                const int t2 = at2 + 8;
                if (t2 <= 33) {
                    right_3 = ws_load<4, 16>(right + (at3 + 8));
                } else {
                    const int t3 = at3 + 8;
                    if (t2 < 37) right_3[0] = right[t3];
                    if (t2 + 1 < 37) right_3[1] = right[t3 + 1];
                    if (t2 + 2 < 37) right_3[2] = right[t3 + 2];
                    if (t2 + 3 < 37) right_3[3] = right[t3 + 3];
                }
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
                acc1 = ws_fma(ws_splat<4>(left_0), right_2, acc1);
                acc2 = ws_fma(ws_splat<4>(left_0), right_3, acc2);
            }
            {
                const float left_0 = (m0 < 6) ? left[at1 + 1] : 0.0f;
                ws_vec<float, 4> right_1 = ws_vec<float, 4>{};
                if (at2 <= 33) {
                    right_1 = ws_load<4, 4>(right + (at3 + 37));
                } else {
                    const int t4 = at3 + 37;
                    right_1[0] = right[t4];
                    if (at2 + 1 < 37) right_1[1] = right[t4 + 1];
                    if (at2 + 2 < 37) right_1[2] = right[t4 + 2];
                    if (at2 + 3 < 37) right_1[3] = right[t4 + 3];
                }
                ws_vec<float, 4> right_2 = ws_vec<float, 4>{};
                const int t5 = at2 + 4;
                if (t5 <= 33) {
                    right_2 = ws_load<4, 4>(right + (at3 + 41));
                } else {
                    const int t6 = at3 + 41;
                    if (t5 < 37) right_2[0] = right[t6];
                    if (t5 + 1 < 37) right_2[1] = right[t6 + 1];
                    if (t5 + 2 < 37) right_2[2] = right[t6 + 2];
                    if (t5 + 3 < 37) right_2[3] = right[t6 + 3];
                }
                ws_vec<float, 4> right_3 = ws_vec<float, 4>{};
                const int t7 = at2 + 8;
                if (t7 <= 33) {
                    right_3 = ws_load<4, 4>(right + (at3 + 45));
                } else {
                    const int t8 = at3 + 45;
                    if (t7 < 37) right_3[0] = right[t8];
                    if (t7 + 1 < 37) right_3[1] = right[t8 + 1];
                    if (t7 + 2 < 37) right_3[2] = right[t8 + 2];
                    if (t7 + 3 < 37) right_3[3] = right[t8 + 3];
                }
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
                acc1 = ws_fma(ws_splat<4>(left_0), right_2, acc1);
                acc2 = ws_fma(ws_splat<4>(left_0), right_3, acc2);
            }
            {
                const float left_0 = (m0 < 6) ? left[at1 + 2] : 0.0f;
                ws_vec<float, 4> right_1 = ws_vec<float, 4>{};
                if (at2 <= 33) {
                    right_1 = ws_load<4, 8>(right + (at3 + 74));
                } else {
                    const int t9 = at3 + 74;
                    right_1[0] = right[t9];
                    if (at2 + 1 < 37) right_1[1] = right[t9 + 1];
                    if (at2 + 2 < 37) right_1[2] = right[t9 + 2];
                    if (at2 + 3 < 37) right_1[3] = right[t9 + 3];
                }
                ws_vec<float, 4> right_2 = ws_vec<float, 4>{};
                const int t10 = at2 + 4;
                if (t10 <= 33) {
                    right_2 = ws_load<4, 8>(right + (at3 + 78));
                } else {
                    const int t11 = at3 + 78;
                    if (t10 < 37) right_2[0] = right[t11];
                    if (t10 + 1 < 37) right_2[1] = right[t11 + 1];
                    if (t10 + 2 < 37) right_2[2] = right[t11 + 2];
                    if (t10 + 3 < 37) right_2[3] = right[t11 + 3];
                }
                ws_vec<float, 4> right_3 = ws_vec<float, 4>{};
                const int t12 = at2 + 8;
                if (t12 <= 33) {
                    right_3 = ws_load<4, 8>(right + (at3 + 82));
                } else {
                    const int t13 = at3 + 82;
                    if (t12 < 37) right_3[0] = right[t13];
                    if (t12 + 1 < 37) right_3[1] = right[t13 + 1];
                    if (t12 + 2 < 37) right_3[2] = right[t13 + 2];
                    if (t12 + 3 < 37) right_3[3] = right[t13 + 3];
                }
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
                acc1 = ws_fma(ws_splat<4>(left_0), right_2, acc1);
                acc2 = ws_fma(ws_splat<4>(left_0), right_3, acc2);
            }
            {
                const float left_0 = (m0 < 6) ? left[at1 + 3] : 0.0f;
                ws_vec<float, 4> right_1 = ws_vec<float, 4>{};
                if (at2 <= 33) {
                    right_1 = ws_load<4, 4>(right + (at3 + 111));
                } else {
                    const int t14 = at3 + 111;
                    right_1[0] = right[t14];
                    if (at2 + 1 < 37) right_1[1] = right[t14 + 1];
                    if (at2 + 2 < 37) right_1[2] = right[t14 + 2];
                    if (at2 + 3 < 37) right_1[3] = right[t14 + 3];
                }
                ws_vec<float, 4> right_2 = ws_vec<float, 4>{};
                const int t15 = at2 + 4;
                if (t15 <= 33) {
                    right_2 = ws_load<4, 4>(right + (at3 + 115));
                } else {
                    const int t16 = at3 + 115;
                    if (t15 < 37) right_2[0] = right[t16];
                    if (t15 + 1 < 37) right_2[1] = right[t16 + 1];
                    if (t15 + 2 < 37) right_2[2] = right[t16 + 2];
                    if (t15 + 3 < 37) right_2[3] = right[t16 + 3];
                }
                ws_vec<float, 4> right_3 = ws_vec<float, 4>{};
                const int t17 = at2 + 8;
                if (t17 <= 33) {
                    right_3 = ws_load<4, 4>(right + (at3 + 119));
                } else {
                    const int t18 = at3 + 119;
                    if (t17 < 37) right_3[0] = right[t18];
                    if (t17 + 1 < 37) right_3[1] = right[t18 + 1];
                    if (t17 + 2 < 37) right_3[2] = right[t18 + 2];
                    if (t17 + 3 < 37) right_3[3] = right[t18 + 3];
                }
                acc0 = ws_fma(ws_splat<4>(left_0), right_1, acc0);
                acc1 = ws_fma(ws_splat<4>(left_0), right_2, acc1);
                acc2 = ws_fma(ws_splat<4>(left_0), right_3, acc2);
            }
        }
    }
    float before0_0 = ws_bits<float>(0xff800000u);
    {
        ws_vec<float, 4> part0 = ws_splat<4>(ws_bits<float>(0xff800000u));
        {
            const ws_vec<float, 4> value = acc0;
            if (n0 < 3) {
                part0 = ws_max(part0, value);
            } else if (n0 < 4) {
                part0 = ws_max(part0, ws_vec<float, 4>{value[0], ws_bits<float>(0xff800000u), ws_bits<float>(0xff800000u), ws_bits<float>(0xff800000u)});
            }
        }
        if (n0 < 3) {
            part0 = ws_max(part0, acc1);
        }
        if (n0 < 3) {
            part0 = ws_max(part0, acc2);
        }
        {
            const ws_vec<float, 2> folded2 = ws_max(ws_slice<0, 2>(part0), ws_slice<2, 2>(part0));
            const float folded1 = ws_max(folded2[0], folded2[1]);
            partial_local[lm*4 + ln] = folded1;
        }
        __syncthreads();
        if (ln < 2) {
            partial_local[lm*4 + ln] = ws_max(partial_local[lm*4 + ln], partial_local[lm*4 + ln + 2]);
        }
        __syncthreads();
        if (ln < 1) {
            partial_local[lm*4 + ln] = ws_max(partial_local[lm*4 + ln], partial_local[lm*4 + ln + 1]);
        }
        __syncthreads();
        {
            const float total = partial_local[lm*4];
            before0_0 = total;
        }
        __syncthreads();
    }
    float before1_0 = 0.0f;
    {
        ws_vec<float, 4> part0 = ws_splat<4>(0.0f);
        acc0 = ws_exp(acc0 - before0_0);
        {
            const ws_vec<float, 4> value = acc0;
            if (n0 < 3) {
                part0 = part0 + value;
            } else if (n0 < 4) {
                part0 = part0 + ws_vec<float, 4>{value[0], 0.0f, 0.0f, 0.0f};
            }
        }
        acc1 = ws_exp(acc1 - before0_0);
        if (n0 < 3) {
            part0 = part0 + acc1;
        }
        acc2 = ws_exp(acc2 - before0_0);
        if (n0 < 3) {
            part0 = part0 + acc2;
        }
        {
            const ws_vec<float, 2> folded2 = ws_slice<0, 2>(part0) + ws_slice<2, 2>(part0);
            const float folded1 = folded2[0] + folded2[1];
            partial_local[lm*4 + ln] = folded1;
        }
        __syncthreads();
        if (ln < 2) {
            partial_local[lm*4 + ln] = partial_local[lm*4 + ln] + partial_local[lm*4 + ln + 2];
        }
        __syncthreads();
        if (ln < 1) {
            partial_local[lm*4 + ln] = partial_local[lm*4 + ln] + partial_local[lm*4 + ln + 1];
        }
        __syncthreads();
        {
            const float total = partial_local[lm*4];
            before1_0 = 1.0f / total;
        }
    }
    const int at4 = m0*37 + n0*12;
    {
        const ws_vec<float, 4> value = acc0 * before1_0;
        if (m0 < 6) {
            if (at2 <= 33) {
                ws_store<ws_back, 4>(output_after + at4, value);
            } else {
                output_after[at4] = value[0];
                if (at2 + 1 < 37) output_after[at4 + 1] = value[1];
                if (at2 + 2 < 37) output_after[at4 + 2] = value[2];
                if (at2 + 3 < 37) output_after[at4 + 3] = value[3];
            }
        }
    }
    {
        const ws_vec<float, 4> value = acc1 * before1_0;
        if (m0 < 6) {
            const int t19 = at2 + 4;
            if (t19 <= 33) {
                ws_store<ws_back, 4>(output_after + (at4 + 4), value);
            } else {
                const int t20 = at4 + 4;
                if (t19 < 37) output_after[t20] = value[0];
                if (t19 + 1 < 37) output_after[t20 + 1] = value[1];
                if (t19 + 2 < 37) output_after[t20 + 2] = value[2];
                if (t19 + 3 < 37) output_after[t20 + 3] = value[3];
            }
        }
    }
    {
        const ws_vec<float, 4> value = acc2 * before1_0;
        if (m0 < 6) {
            const int t21 = at2 + 8;
            if (t21 <= 33) {
                ws_store<ws_back, 4>(output_after + (at4 + 8), value);
            } else {
                const int t22 = at4 + 8;
                if (t21 < 37) output_after[t22] = value[0];
                if (t21 + 1 < 37) output_after[t22 + 1] = value[1];
                if (t21 + 2 < 37) output_after[t22 + 2] = value[2];
                if (t21 + 3 < 37) output_after[t22 + 3] = value[3];
            }
        }
    }
}
