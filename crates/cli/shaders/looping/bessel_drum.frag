// A drum's modes: Bessel functions by their series until a term is small, mixed over time.
// SPDX-License-Identifier: MIT OR Apache-2.0
float bessel(int order, float x) {
    float term = 1.0, half_x = 0.5 * x;
    for (int i = 1; i <= order; i++) term *= half_x / float(i);
    float sum = term;
    for (int k = 1; k < 30; k++) {
        term *= -half_x * half_x / (float(k) * float(k + order));
        sum += term;
        if (abs(term) < 1e-5) break;
    }
    return sum;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const float ZEROS[4] = float[4](2.4048, 7.0156, 8.4172, 9.7610);
    vec2 p = 1.15 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float r = length(p), a = atan(p.y, p.x), h = 0.0;
    vec3 colour = vec3(0.1, 0.08, 0.06);
    if (r < 1.0) {
        for (int m = 0; m < 4; m++) h += bessel(m, ZEROS[m] * r) * cos(float(m) * a) * cos(iTime * ZEROS[m] * 0.5) * 0.6;
        colour = mix(vec3(0.1, 0.2, 0.5), vec3(1.0, 0.85, 0.6), 0.5 + 0.5 * h) * (0.8 + 0.2 * cos(40.0 * h));
    }
    fragColor = vec4(colour, 1.0);
}
