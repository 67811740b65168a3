#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void multiply(
    const __global float* restrict input,  // [2016]
    const __global float* restrict gate,  // [16]
    __global float* restrict output)  // [2016]
{
    const int gx = get_group_id(0);
    const int gc = get_group_id(1);
    const int gy = get_group_id(2);
    const int lc = get_local_id(0);
    const int c0 = gc*16 + lc;
    const int y0 = gy;
    const int x0 = gx;
    const int at0 = c0*126 + y0*14 + x0*2;
    {
        const float2 input_0 = (*(const __global float2*)(input + at0));
        const float gate_1 = gate[c0];
        const float2 value = input_0 * gate_1;
        *(__global float2*)(output + at0) = value;
    }
}
