// Markus–Lyapunov fractal: the logistic map with a forced sequence, and the mean logarithm of its derivative.
// SPDX-License-Identifier: MIT OR Apache-2.0
const int SEQUENCE[12] = int[12](1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0);

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy;
    vec2 rate = vec2(2.6, 3.4) + (uv - 0.5) * vec2(1.3, 1.1) + 0.05 * sin(0.5 * iTime);
    float x = 0.5, sum = 0.0;
    for (int i = 0; i < 12; i++) x *= (SEQUENCE[i] == 1 ? rate.x : rate.y) * (1.0 - x);
    int count = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 12; i++) {
            float r = SEQUENCE[i] == 1 ? rate.x : rate.y;
            sum += log2(abs(r * (1.0 - 2.0 * x)) + 1e-6);
            x = r * x * (1.0 - x);
            count++;
        }
        if (abs(sum) > 400.0) break;
    }
    float l = sum / float(count);
    fragColor = vec4(l < 0.0 ? vec3(1.0, 0.85, 0.2) * exp(0.9 * l) : vec3(0.1, 0.2, 0.6) * min(2.0 * l, 1.0), 1.0);
}
