#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Numbers of 8 and 16 bits: every pixel shows others.
layout(location = 0) out vec4 color;

void main() {
    int which = int(gl_FragCoord.x) % 8;
    int n = int(gl_FragCoord.y);
    vec4 v = vec4(0.0);
    float16_t h = float16_t(float(n) + 0.1);
    int16_t s = int16_t(n * 9000 - 30000);
    uint16_t u = uint16_t(n * 9000);
    int8_t b = int8_t(n * 40 - 100);
    uint8_t c = uint8_t(n * 40);
    // Sums and products, each rounded to 11 bits.
    if (which == 0) v = vec4(float(h), float(h * h), float(h + float16_t(1000.0)), float(h * h - h));
    // Wrapped to their bits.
    if (which == 1) v = vec4(float(s + s), float(s * int16_t(3)), float(u + u), float(-s));
    if (which == 2) v = vec4(float(b + b), float(b * int8_t(3)), float(c + c), float(~c));
    // Signs matter to these.
    if (which == 3) v = vec4(float(s / int16_t(7)), float(s % int16_t(7) == int16_t(0) ? 1 : 0), float(s >> 3), float(u >> uint16_t(3)));
    if (which == 4) v = vec4(float(min(s, int16_t(0))), s < int16_t(-1000) ? 1.0 : 0.0, float(max(b, int8_t(-3))), float(abs(s)));
    // From one width to another.
    if (which == 5) v = vec4(float(int(b)), float(uint(c)), float(int16_t(b) * int16_t(100)), float(uint8_t(u)));
    // The same bits as another type.
    if (which == 6) {
        uint both = packUint2x16(u16vec2(u, uint16_t(s)));
        u8vec4 bytes = unpack8(both);
        v = vec4(float(both >> 16), float(bytes.y), float(float16BitsToUint16(h)), float(uint16BitsToFloat16(uint16_t(15360 + n))));
    }
    if (which == 7) {
        f16vec3 a = f16vec3(h, 2.0, -1.5);
        f16vec3 m = mix(a, f16vec3(0.5), bvec3(n > 3, true, false));
        v = vec4(vec3(floor(a.zyx) + m), float(sign(b)));
    }
    color = v;
}
