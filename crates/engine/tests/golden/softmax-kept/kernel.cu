extern "C" __global__ void __launch_bounds__(16) softmax(
    const float* __restrict__ input,  // [2100]
    float* __restrict__ output)  // [2100]
{
    const int gn = blockIdx.x;
    const int lr1 = threadIdx.x;
    const int ln = threadIdx.y;
    alignas(16) __shared__ float partial_local[1 * 4 * 4 * 1];
    const int n0 = gn*4 + ln;
    float before0_0 = 0.0f;
    const int at0 = n0*70;
    {
        ws_vec<float, 4> acc0 = ws_splat<4>(ws_bits<float>(0xff800000u));
        float rest0 = ws_bits<float>(0xff800000u);
        if (n0 <= 29) {
#pragma unroll 1
            for (int tr1 = 0; tr1 < 4; ++tr1) {
                const int r10 = tr1*4 + lr1;
                const int at1 = at0 + r10*4;
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + at1);
                    acc0 = ws_max(acc0, input_0);
                }
            }
        } else {
#pragma unroll 1
            for (int tr1 = 0; tr1 < 4; ++tr1) {
                const int r10 = tr1*4 + lr1;
                const int at1 = at0 + r10*4;
                {
                    ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
                    if (n0 < 30) input_0 = ws_load<4, 8>(input + at1);
                    acc0 = ws_max(acc0, input_0);
                }
            }
        }
        if (lr1 < 1) {
            const int r10 = lr1 + 16;
            const int at2 = at0 + r10*4;
            {
                ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
                if (n0 < 30) input_0 = ws_load<4, 8>(input + at2);
                acc0 = ws_max(acc0, input_0);
            }
        }
        if (lr1 < 1) {
            {
                ws_vec<float, 2> input_0 = ws_vec<float, 2>{};
                if (n0 < 30) input_0 = ws_load<2, 8>(input + (at0 + 68));
                {
                    const ws_vec<float, 2> value = input_0;
                    const float folded1 = ws_max(value[0], value[1]);
                    rest0 = ws_max(rest0, folded1);
                }
            }
        }
        {
            const ws_vec<float, 2> folded2 = ws_max(ws_slice<0, 2>(acc0), ws_slice<2, 2>(acc0));
            const float folded1 = ws_max(folded2[0], folded2[1]);
            partial_local[ln*4 + lr1] = ws_max(folded1, rest0);
        }
        __syncthreads();
        if (lr1 < 2) {
            partial_local[ln*4 + lr1] = ws_max(partial_local[ln*4 + lr1], partial_local[ln*4 + lr1 + 2]);
        }
        __syncthreads();
        if (lr1 < 1) {
            partial_local[ln*4 + lr1] = ws_max(partial_local[ln*4 + lr1], partial_local[ln*4 + lr1 + 1]);
        }
        __syncthreads();
        {
            const float total = partial_local[ln*4];
            before0_0 = total;
        }
        __syncthreads();
    }
    float before1_0 = 0.0f;
    {
        ws_vec<float, 4> acc0 = ws_splat<4>(0.0f);
        float rest0 = 0.0f;
        if (n0 <= 29) {
#pragma unroll 1
            for (int tr1 = 0; tr1 < 4; ++tr1) {
                const int r10 = tr1*4 + lr1;
                const int at3 = at0 + r10*4;
                {
                    const ws_vec<float, 4> input_0 = ws_load<4, 8>(input + at3);
                    {
                        const ws_vec<float, 4> value = ws_exp(input_0 - before0_0);
                        ws_store<ws_back, 8>(output + at3, value);
                        acc0 = acc0 + value;
                    }
                }
            }
        } else {
#pragma unroll 1
            for (int tr1 = 0; tr1 < 4; ++tr1) {
                const int r10 = tr1*4 + lr1;
                const int at3 = at0 + r10*4;
                {
                    ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
                    if (n0 < 30) input_0 = ws_load<4, 8>(input + at3);
                    {
                        const ws_vec<float, 4> value = ws_exp(input_0 - before0_0);
                        if (n0 < 30) ws_store<ws_back, 8>(output + at3, value);
                        acc0 = acc0 + value;
                    }
                }
            }
        }
        if (lr1 < 1) {
            const int r10 = lr1 + 16;
            const int at4 = at0 + r10*4;
            {
                ws_vec<float, 4> input_0 = ws_vec<float, 4>{};
                if (n0 < 30) input_0 = ws_load<4, 8>(input + at4);
                {
                    const ws_vec<float, 4> value = ws_exp(input_0 - before0_0);
                    if (n0 < 30) ws_store<ws_back, 8>(output + at4, value);
                    acc0 = acc0 + value;
                }
            }
        }
        if (lr1 < 1) {
            {
                ws_vec<float, 2> input_0 = ws_vec<float, 2>{};
                if (n0 < 30) input_0 = ws_load<2, 8>(input + (at0 + 68));
                {
                    const ws_vec<float, 2> value = ws_exp(input_0 - before0_0);
                    if (n0 < 30) ws_store<ws_back, 8>(output + (at0 + 68), value);
                    const float folded1 = value[0] + value[1];
                    rest0 = rest0 + folded1;
                }
            }
        }
        {
            const ws_vec<float, 2> folded2 = ws_slice<0, 2>(acc0) + ws_slice<2, 2>(acc0);
            const float folded1 = folded2[0] + folded2[1];
            partial_local[ln*4 + lr1] = folded1 + rest0;
        }
        __syncthreads();
        if (lr1 < 2) {
            partial_local[ln*4 + lr1] = partial_local[ln*4 + lr1] + partial_local[ln*4 + lr1 + 2];
        }
        __syncthreads();
        if (lr1 < 1) {
            partial_local[ln*4 + lr1] = partial_local[ln*4 + lr1] + partial_local[ln*4 + lr1 + 1];
        }
        __syncthreads();
        {
            const float total = partial_local[ln*4];
            before1_0 = 1.0f / total;
        }
    }
    if (n0 <= 29) {
#pragma unroll 1
        for (int tr1 = 0; tr1 < 4; ++tr1) {
            const int r10 = tr1*4 + lr1;
            const int at5 = at0 + r10*4;
            {
                const ws_vec<float, 4> output_0 = ws_load<4, 8>(output + at5);
                {
                    const ws_vec<float, 4> value = output_0 * before1_0;
                    ws_store<ws_back, 8>(output + at5, value);
                }
            }
        }
    } else {
#pragma unroll 1
        for (int tr1 = 0; tr1 < 4; ++tr1) {
            const int r10 = tr1*4 + lr1;
            const int at5 = at0 + r10*4;
            {
                ws_vec<float, 4> output_0 = ws_vec<float, 4>{};
                if (n0 < 30) output_0 = ws_load<4, 8>(output + at5);
                {
                    const ws_vec<float, 4> value = output_0 * before1_0;
                    if (n0 < 30) ws_store<ws_back, 8>(output + at5, value);
                }
            }
        }
    }
    if (lr1 < 1) {
        const int r10 = lr1 + 16;
        const int at6 = at0 + r10*4;
        {
            ws_vec<float, 4> output_0 = ws_vec<float, 4>{};
            if (n0 < 30) output_0 = ws_load<4, 8>(output + at6);
            {
                const ws_vec<float, 4> value = output_0 * before1_0;
                if (n0 < 30) ws_store<ws_back, 8>(output + at6, value);
            }
        }
    }
    if (lr1 < 1) {
        {
            ws_vec<float, 2> output_0 = ws_vec<float, 2>{};
            if (n0 < 30) output_0 = ws_load<2, 8>(output + (at0 + 68));
            {
                const ws_vec<float, 2> value = output_0 * before1_0;
                if (n0 < 30) ws_store<ws_back, 8>(output + (at0 + 68), value);
            }
        }
    }
}
