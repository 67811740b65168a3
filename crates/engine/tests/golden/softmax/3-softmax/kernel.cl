#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void softmax(
    const __global float* restrict input,  // [300]
    const __global float* restrict maximum,  // [30]
    const __global float* restrict inverse_total,  // [30]
    __global float* restrict output)  // [300]
{
    const int gc = get_group_id(0);
    const int gn = get_group_id(1);
    const int ln = get_local_id(0);
    const int n0 = gn*32 + ln;
    const int c0 = gc;
    const int at0 = n0*10 + c0*2;
    if (n0 < 30) {
        {
            const float2 input_0 = (*(const __global float2*)(input + at0));
            const float maximum_1 = maximum[n0];
            const float inverse_total_2 = inverse_total[n0];
            const float2 value = exp(input_0 - maximum_1) * inverse_total_2;
            *(__global float2*)(output + at0) = value;
        }
    }
}
