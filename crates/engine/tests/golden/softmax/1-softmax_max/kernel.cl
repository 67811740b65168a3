float ws_max_float(float a, float b)
{
    return b > a || isnan(b) ? b : a;
}

__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void softmax_max(
    const __global float* restrict input,  // [300]
    __global float* restrict maximum)  // [30]
{
    const int gn = get_group_id(0);
    const int ln = get_local_id(0);
    const int n0 = gn*8 + ln;
    const int at0 = n0*10;
    if (n0 < 30) {
        float acc0 = -INFINITY;
#pragma unroll 1
        for (int r10 = 0; r10 < 5; ++r10) {
            const int at1 = at0 + r10*2;
            {
                const float input_0 = input[at1];
                acc0 = ws_max_float(acc0, input_0);
            }
            {
                const float input_0 = input[(ptrdiff_t)at1 + 1];
                acc0 = ws_max_float(acc0, input_0);
            }
        }
        {
            const float value = acc0;
            maximum[n0] = value;
        }
    }
}
