__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void matmul(
    const __global float* restrict left,  // [768]
    const __global float* restrict right,  // [1280]
    __global float* restrict output)  // [960]
{
    const int gn = get_group_id(0);
    const int gm = get_group_id(1);
    const int ln = get_local_id(0);
    const int lm = get_local_id(1);
    const int m0 = gm*8 + lm;
    const int n0 = gn*8 + ln;
    const int at0 = m0*64;
    const int at2 = n0*4;
    const int at4 = m0*80 + n0*4;
    if (m0 < 12 && n0 < 10) {
        float4 acc0 = (float4)(0.0f);
        float4 acc1 = (float4)(0.0f);
#pragma unroll 1
        for (int k0 = 0; k0 < 16; ++k0) {
            const int at1 = at0 + k0*2;
            const int at3 = at2 + k0*80;
            {
                const float left_0 = left[at1];
                const float left_1 = left[at1 + 32];
                const float4 right_2 = vload4(0, right + at3);
                acc0 = fma((float4)(left_0), right_2, acc0);
                acc1 = fma((float4)(left_1), right_2, acc1);
            }
            {
                const float left_0 = left[at1 + 1];
                const float left_1 = left[at1 + 33];
                const float4 right_2 = vload4(0, right + (at3 + 40));
                acc0 = fma((float4)(left_0), right_2, acc0);
                acc1 = fma((float4)(left_1), right_2, acc1);
            }
        }
        {
            const float4 value = acc0;
            vstore4(value, 0, output + at4);
        }
        {
            const float4 value = acc1;
            vstore4(value, 0, output + (at4 + 40));
        }
    }
}
