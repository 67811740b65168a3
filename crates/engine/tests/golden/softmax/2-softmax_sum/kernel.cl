__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void softmax_sum(
    const __global float* restrict input,  // [300]
    const __global float* restrict maximum,  // [30]
    __global float* restrict inverse_total)  // [30]
{
    const int gn = get_group_id(0);
    const int ln = get_local_id(0);
    const int n0 = gn*8 + ln;
    const int at0 = n0*10;
    if (n0 < 30) {
        float acc0 = 0.0f;
#pragma unroll 1
        for (int r10 = 0; r10 < 5; ++r10) {
            const int at1 = at0 + r10*2;
            {
                const float input_0 = input[at1];
                const float maximum_1 = maximum[n0];
                acc0 = acc0 + exp(input_0 - maximum_1);
            }
            {
                const float input_0 = input[(ptrdiff_t)at1 + 1];
                const float maximum_1 = maximum[n0];
                acc0 = acc0 + exp(input_0 - maximum_1);
            }
        }
        {
            const float value = 1.0f / acc0;
            inverse_total[n0] = value;
        }
    }
}
