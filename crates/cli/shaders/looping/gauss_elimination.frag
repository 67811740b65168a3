// A radial basis function through sixteen points: no solver library, but Gaussian elimination with pivoting of a 6 × 6 system per pixel.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    const int N = 6;
    float a[42];
    vec2 site[N];
    for (int i = 0; i < N; i++) site[i] = vec2(sin(2.4 * float(i) + 0.3 * iTime), 0.8 * cos(1.7 * float(i)));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) a[i * 7 + j] = exp(-1.5 * dot(site[i] - site[j], site[i] - site[j])) + (i == j ? 0.05 : 0.0);
        a[i * 7 + 6] = sin(3.0 * float(i));
    }
    for (int k = 0; k < N; k++) {
        int pivot = k;
        for (int i = k + 1; i < N; i++)
            if (abs(a[i * 7 + k]) > abs(a[pivot * 7 + k])) pivot = i;
        if (pivot != k) {
            for (int j = k; j <= N; j++) {
                float t = a[k * 7 + j];
                a[k * 7 + j] = a[pivot * 7 + j];
                a[pivot * 7 + j] = t;
            }
        }
        for (int i = k + 1; i < N; i++) {
            float f = a[i * 7 + k] / a[k * 7 + k];
            for (int j = k; j <= N; j++) a[i * 7 + j] -= f * a[k * 7 + j];
        }
    }
    float value = 0.0, w[N];
    for (int i = N - 1; i >= 0; i--) {
        w[i] = a[i * 7 + 6];
        for (int j = i + 1; j < N; j++) w[i] -= a[i * 7 + j] * w[j];
        w[i] /= a[i * 7 + i];
        value += w[i] * exp(-1.5 * dot(p - site[i], p - site[i]));
    }
    float lines = smoothstep(0.1, 0.2, abs(fract(5.0 * value) - 0.5));
    fragColor = vec4(mix(vec3(0.1), mix(vec3(0.2, 0.4, 0.8), vec3(0.95, 0.6, 0.3), 0.5 + 0.5 * tanh(value)), lines), 1.0);
}
