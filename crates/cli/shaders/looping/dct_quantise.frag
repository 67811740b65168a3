// JPEG's transform: the 8 × 8 block's coefficients below a frequency limit, quantised, and the pixel put together from them.
// SPDX-License-Identifier: MIT OR Apache-2.0
const float PI = 3.14159265;

float basis(int k, float x) {
    return (k == 0 ? 0.70710678 : 1.0) * cos((2.0 * x + 1.0) * float(k) * PI / 16.0);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    ivec2 pixel = ivec2(fragCoord), block = pixel & ~7, at = pixel & 7;
    int limit = 2 + int(3.0 * fragCoord.x / iResolution.x);
    vec3 texels[64];
    for (int i = 0; i < 64; i++) texels[i] = textureLod(iChannel0, (vec2(block + ivec2(i & 7, i >> 3)) + 0.5) / iResolution.xy, 0.0).rgb;
    vec3 sum = vec3(0.0);
    for (int v = 0; v < limit; v++) {
        for (int u = 0; u + v < limit; u++) {
            vec3 coefficient = vec3(0.0);
            for (int y = 0; y < 8; y++) {
                float by = basis(v, float(y));
                for (int x = 0; x < 8; x++) coefficient += texels[8 * y + x] * by * basis(u, float(x));
            }
            float q = 0.02 * float(1 + u + v);
            coefficient = round(0.25 * coefficient / q) * q;
            sum += 0.25 * coefficient * basis(u, float(at.x)) * basis(v, float(at.y));
        }
    }
    fragColor = vec4(sum, 1.0);
}
