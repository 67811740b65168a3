#version 450
#extension GL_ARB_gpu_shader_int64 : require
// Numbers of 64 bits.
layout(location = 0) out vec4 color;

void main() {
    int x = int(gl_FragCoord.x);
    double d = double(x) * 0.1LF;
    dvec3 v = dvec3(d, d + 1.0LF, 2.0LF);
    dmat2 m = dmat2(1.0LF, 2.0LF, 3.0LF, d);
    uint64_t big = uint64_t(x) * 5000000000ul;
    int64_t low = int64_t(big) - 7000000000l;
    double part;
    double whole = modf(d * 12.5LF, part);
    color = vec4(float(dot(v, v) - d * d), float(determinant(m)), float(big / 1000ul), float(low >> 20));
    if (x == 7) color = vec4(float(length(v)), float(whole), float(part), float(sqrt(d)));
    if (x == 6) color = vec4(low < 0l ? 1.0 : 0.0, float(uint(big)), float(uint(big >> 32)), float(max(v.x, v.y)));
}
