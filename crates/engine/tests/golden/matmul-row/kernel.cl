__kernel __attribute__((reqd_work_group_size(4, 16, 1)))
void matmul(
    const __global float* restrict left,  // [200]
    const __global float* restrict right,  // [8000]
    __global float* restrict output)  // [40]
{
    const int gn = get_group_id(0);
    const int ln = get_local_id(0);
    const int lk = get_local_id(1);
    __local float partial_local[1 * 16 * 4 * 4];
    const int n0 = gn*4 + ln;
    float4 acc0 = (float4)(0.0f);
    const int at0 = n0*4;
    if (at0 <= 36) {
#pragma unroll 1
        for (int tk = 0; tk < 12; ++tk) {
            const int k0 = tk*16 + lk;
            const int at1 = at0 + k0*40;
            {
                const float left_0 = left[k0];
                const float4 right_1 = (*(const __global float4*)(right + at1));
                acc0 = fma((float4)(left_0), right_1, acc0);
            }
        }
    } else {
#pragma unroll 1
        for (int tk = 0; tk < 12; ++tk) {
            const int k0 = tk*16 + lk;
            const int at1 = at0 + k0*40;
            {
                const float left_0 = left[k0];
                float4 right_1 = (float4)(0.0f);
                if (at0 <= 36) {
                    right_1 = (*(const __global float4*)(right + at1));
                } else {
                    if (at0 < 40) right_1.s0 = right[at1];
                    if (at0 + 1 < 40) right_1.s1 = right[(ptrdiff_t)at1 + 1];
                    if (at0 + 2 < 40) right_1.s2 = right[(ptrdiff_t)at1 + 2];
                    if (at0 + 3 < 40) right_1.s3 = right[(ptrdiff_t)at1 + 3];
                }
                acc0 = fma((float4)(left_0), right_1, acc0);
            }
        }
    }
    if (lk < 8) {
        const int k0 = lk + 192;
        const int at2 = at0 + k0*40;
        {
            const float left_0 = left[k0];
            float4 right_1 = (float4)(0.0f);
            if (at0 <= 36) {
                right_1 = (*(const __global float4*)(right + at2));
            } else {
                if (at0 < 40) right_1.s0 = right[at2];
                if (at0 + 1 < 40) right_1.s1 = right[(ptrdiff_t)at2 + 1];
                if (at0 + 2 < 40) right_1.s2 = right[(ptrdiff_t)at2 + 2];
                if (at0 + 3 < 40) right_1.s3 = right[(ptrdiff_t)at2 + 3];
            }
            acc0 = fma((float4)(left_0), right_1, acc0);
        }
    }
    {
        vstore4(acc0, 0, partial_local + (lk*4 + ln)*4);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lk < 8) {
        vstore4(vload4(0, partial_local + (lk*4 + ln)*4) + vload4(0, partial_local + ((lk + 8)*4 + ln)*4), 0, partial_local + (lk*4 + ln)*4);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lk < 4) {
        vstore4(vload4(0, partial_local + (lk*4 + ln)*4) + vload4(0, partial_local + ((lk + 4)*4 + ln)*4), 0, partial_local + (lk*4 + ln)*4);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lk < 2) {
        vstore4(vload4(0, partial_local + (lk*4 + ln)*4) + vload4(0, partial_local + ((lk + 2)*4 + ln)*4), 0, partial_local + (lk*4 + ln)*4);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lk < 1) {
        vstore4(vload4(0, partial_local + (lk*4 + ln)*4) + vload4(0, partial_local + ((lk + 1)*4 + ln)*4), 0, partial_local + (lk*4 + ln)*4);
    }
    if (lk < 1) {
        {
            const float4 total = vload4(0, partial_local + ln*4);
            const float4 value = total;
            if (at0 <= 36) {
                *(__global float4*)(output + at0) = value;
            } else {
                if (at0 < 40) output[at0] = value.s0;
                if (at0 + 1 < 40) output[(ptrdiff_t)at0 + 1] = value.s1;
                if (at0 + 2 < 40) output[(ptrdiff_t)at0 + 2] = value.s2;
                if (at0 + 3 < 40) output[(ptrdiff_t)at0 + 3] = value.s3;
            }
        }
    }
}
