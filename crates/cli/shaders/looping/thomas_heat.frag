// An implicit step of heat along the pixel's row: the tridiagonal system of 32 unknowns by Thomas' algorithm, forth and back.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int N = 32;
    float upper[N], d[N];
    float lambda = 0.1 + 40.0 * pow(fragCoord.y / iResolution.y, 3.0), row = floor(fragCoord.y / 24.0) * 24.0;
    for (int i = 0; i < N; i++) {
        float v = step(0.5, textureLod(iChannel0, vec2(float(i) / float(N), row / iResolution.y + 0.05 * iTime), 0.0).r);
        float low = i > 0 ? upper[i - 1] : 0.0, before = i > 0 ? d[i - 1] : 0.0;
        float m = 1.0 + 2.0 * lambda + lambda * low;
        upper[i] = -lambda / m;
        d[i] = (v + lambda * before) / m;
    }
    for (int i = N - 2; i >= 0; i--) d[i] -= upper[i] * d[i + 1];
    float x = fragCoord.x / iResolution.x * float(N - 1);
    float t = mix(d[int(x)], d[min(int(x) + 1, N - 1)], fract(x));
    fragColor = vec4(clamp(vec3(2.0 * t, 2.0 * t - 0.6, 3.0 * t - 1.8), 0.0, 1.0) + vec3(0.0, 0.0, 0.15 * (1.0 - t)), 1.0);
}
