#version 450
// Every function of GLSL that fragment shaders have, four to a row.
layout(location = 0) out vec4 color;

void main() {
    float x = (gl_FragCoord.x - 8.0) * 0.37;
    float p = abs(x) + 0.125;
    float s = clamp(x * 0.3, -0.99, 0.99);
    int i = int(gl_FragCoord.x) * 1103515245 - 77;
    uint u = uint(i);
    vec3 a = vec3(x, 1.0 - x, p), b = vec3(0.5, x * x, -1.0);
    mat3 m = mat3(a, b, vec3(1.0, 2.0, x));
    mat4 w = mat4(vec4(a, 1.0), vec4(b, 2.0), vec4(1.0, x, 3.0, 4.0), vec4(p, 0.0, -1.0, 0.5));
    mat2 n = mat2(x, 1.0, -2.0, p);
    vec4 v = vec4(0.0);
    switch (int(gl_FragCoord.y)) {
    case 0: v = vec4(sin(x), cos(x), tan(x), radians(x)); break;
    case 1: v = vec4(asin(s), acos(s), atan(x), atan(x, p)); break;
    case 2: v = vec4(sinh(x), cosh(x), tanh(x), degrees(x)); break;
    case 3: v = vec4(asinh(x), acosh(1.0 + p), atanh(s), pow(p, x)); break;
    case 4: v = vec4(exp(x), log(p), exp2(x), log2(p)); break;
    case 5: v = vec4(sqrt(p), inversesqrt(p), round(x * 2.0), roundEven(x * 2.0)); break;
    case 6: v = vec4(trunc(x), floor(x), ceil(x), fract(x)); break;
    case 7: v = vec4(abs(x), sign(x), mod(x, 0.7), min(x, 0.5)); break;
    case 8: v = vec4(max(x, 0.5), clamp(x, -0.5, 0.5), mix(x, 3.0, 0.25), step(0.5, x)); break;
    case 9: v = vec4(smoothstep(-1.0, 1.0, x), fma(x, p, s), length(a), distance(a, b)); break;
    case 10: v = vec4(cross(a, b), dot(a, b)); break;
    case 11: v = vec4(normalize(a), determinant(m)); break;
    case 12: v = vec4(faceforward(a, b, vec3(0.3, -0.2, 1.0)), determinant(n)); break;
    case 13: v = vec4(reflect(a, normalize(b)), determinant(w)); break;
    case 14: v = vec4(refract(normalize(a), normalize(b), 0.8), length(x)); break;
    case 15: v = vec4(inverse(m)[0], inverse(n)[1].x); break;
    case 16: v = inverse(w)[1]; break;
    case 17: v = vec4(transpose(m)[1], outerProduct(a, b)[2].y); break;
    case 18: v = vec4(unpackUnorm4x8(packUnorm4x8(vec4(s, p, x, 0.5)))); break;
    case 19: v = vec4(unpackSnorm4x8(packSnorm4x8(vec4(s, p, x, -0.5)))); break;
    case 20: v = vec4(unpackHalf2x16(packHalf2x16(vec2(x, p))), unpackUnorm2x16(packUnorm2x16(vec2(p, s)))); break;
    case 21: v = vec4(unpackSnorm2x16(packSnorm2x16(vec2(s, x))), ldexp(x, 3), isnan(pow(-p, 3.0)) && !isinf(p) ? pow(-2.0, p * 0.0 + 2.0) : 0.0); break;
    case 22: v = vec4(findLSB(i), findMSB(i), findMSB(u), bitCount(u)); break;
    case 23: v = vec4(bitfieldExtract(i, 5, 9), bitfieldExtract(u, 7, 11), bitfieldInsert(u, 3u, 4, 3) >> 8, bitfieldReverse(u) >> 8); break;
    case 24: {
        uint carry, borrow, high, low;
        uint sum = uaddCarry(u, 0x80000000u, carry);
        uint less = usubBorrow(u, 0x12345678u, borrow);
        umulExtended(u, 12345u, high, low);
        v = vec4(carry, borrow, high, (sum ^ less ^ low) >> 8);
        break;
    }
    case 25: {
        int e, high, low;
        float f = frexp(x, e), whole, part = modf(x * 3.0, whole);
        imulExtended(i, -77, high, low);
        v = vec4(f + float(e), part, whole, high);
        break;
    }
    default: v = vec4(i / 7, i % 0x7fffffff, max(i, -5), min(u, 77u));
    }
    color = v;
}
