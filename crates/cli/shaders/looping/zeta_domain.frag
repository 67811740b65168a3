// The Dirichlet eta function's partial sums in the critical strip, as domain colouring.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 s = vec2(2.0 * fragCoord.x / iResolution.x - 0.5, 30.0 * fragCoord.y / iResolution.y + 2.0 * iTime), sum = vec2(0.0);
    float sign_of = 1.0;
    for (int n = 1; n <= 48; n++) {
        float l = log(float(n)), m = exp(-s.x * l) * (n > 40 ? float(49 - n) / 9.0 : 1.0);
        sum += sign_of * m * vec2(cos(s.y * l), -sin(s.y * l));
        sign_of = -sign_of;
    }
    float a = atan(sum.y, sum.x), r = log2(length(sum) + 1e-6);
    fragColor = vec4((0.55 + 0.45 * cos(a + vec3(0.0, 2.0944, 4.1888))) * (0.7 + 0.3 * fract(r)), 1.0);
}
