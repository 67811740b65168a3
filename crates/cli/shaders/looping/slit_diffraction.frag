// Fresnel diffraction at a slit: the integral over the aperture by Simpson's rule, three wavelengths.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 wave(float x, float s, float k) {
    float d = x - s;
    return vec2(cos(k * d * d), sin(k * d * d));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float distance_to = 0.3 + 1.5 * (uv.y + 1.0), width = 0.25 + 0.1 * sin(0.5 * iTime);
    vec3 intensity;
    for (int c = 0; c < 3; c++) {
        float k = 3.14159 * vec3(16.0, 19.0, 24.0)[c] / distance_to;
        const int PANELS = 16;
        float h = 2.0 * width / float(2 * PANELS);
        vec2 sum = wave(uv.x, -width, k) + wave(uv.x, width, k);
        for (int i = 1; i < 2 * PANELS; i++) sum += ((i & 1) == 1 ? 4.0 : 2.0) * wave(uv.x, -width + h * float(i), k);
        sum *= h / 3.0;
        intensity[c] = dot(sum, sum) * k / 3.14159 * 0.5;
    }
    fragColor = vec4(1.0 - exp(-1.2 * intensity), 1.0);
}
