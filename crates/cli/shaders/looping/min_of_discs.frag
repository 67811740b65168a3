// The nearest of eight discs on a turning ring, and how near.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y, c = vec2(cos(iTime), sin(iTime)) * 0.7;
    float d = 9.0;
    int which = 0;
    for (int i = 0; i < 8; i++) {
        float r = length(p - c) - 0.2;
        if (r < d) {
            d = r;
            which = i;
        }
        c = mat2(0.70710678, 0.70710678, -0.70710678, 0.70710678) * c;
    }
    fragColor = vec4(d < 0.0 ? vec3(float(which) / 8.0, 0.6, 0.9) : vec3(0.2 * d), 1.0);
}
