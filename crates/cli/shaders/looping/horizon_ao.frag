// Horizon-based occlusion over a height field: in eight directions the steepest slope seen is the horizon.
// SPDX-License-Identifier: MIT OR Apache-2.0
float h(vec2 p) {
    return 0.25 * textureLod(iChannel0, p, 0.0).r + 0.1 * textureLod(iChannel0, 3.0 * p, 0.0).g;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = 0.5 * fragCoord / iResolution.y + 0.01 * iTime;
    float here = h(uv), open = 0.0;
    vec3 light = vec3(0.0);
    for (int k = 0; k < 8; k++) {
        float a = 0.7854 * float(k);
        vec2 d = vec2(cos(a), sin(a));
        float slope = 0.0;
        for (float r = 0.004; r < 0.09; r *= 1.5) slope = max(slope, (h(uv + r * d) - here) / r);
        float sine = slope / sqrt(1.0 + slope * slope);
        open += 1.0 - sine;
        light += (1.0 - sine) * (0.5 + 0.5 * cos(a + vec3(0.0, 0.6, 1.2)));
    }
    fragColor = vec4(light / 8.0 * (0.6 + 1.2 * here) + 0.05 * open, 1.0);
}
