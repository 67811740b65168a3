// Circular waves of two dozen sources: complex amplitudes added, intensity and phase shown.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y, sum = vec2(0.0);
    for (int i = 0; i < 24; i++) {
        vec2 s = vec2(-1.2, 0.08 * (float(i) - 11.5));
        float r = length(p - s), phase = 60.0 * r - 4.0 * iTime + 0.35 * float(i) * sin(0.3 * iTime);
        sum += vec2(cos(phase), sin(phase)) / sqrt(r + 0.1);
    }
    float power = dot(sum, sum) / 60.0;
    fragColor = vec4(power * (0.6 + 0.4 * cos(atan(sum.y, sum.x) + vec3(0.0, 1.0, 2.0))), 1.0);
}
