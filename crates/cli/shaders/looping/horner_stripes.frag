// A polynomial's level lines: coefficients in an array, evaluated by Horner's rule.
// SPDX-License-Identifier: MIT OR Apache-2.0
const float C[6] = float[6](0.3, -1.1, 0.2, 1.7, -0.4, 0.1);

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 2.0 * fragCoord / iResolution.xy - 1.0;
    float y = 0.0;
    for (int i = 0; i < 6; i++) y = y * p.x + C[i];
    float d = p.y - y;
    fragColor = vec4(step(0.0, d), fract(4.0 * d), 0.5 + 0.5 * p.x, 1.0);
}
