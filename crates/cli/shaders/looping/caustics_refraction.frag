// Caustics: light through a rippled surface; a grid of surface points around the pixel is refracted down and its landing summed.
// SPDX-License-Identifier: MIT OR Apache-2.0
float ripple(vec2 p) {
    float sum = 0.0;
    for (int i = 0; i < 4; i++) {
        float a = 1.3 * float(i) + 0.5, k = 3.0 + 1.7 * float(i);
        sum += sin(k * dot(p, vec2(cos(a), sin(a))) + (1.0 + 0.4 * float(i)) * iTime) / k;
    }
    return 0.18 * sum;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 3.0 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    const float reach = 0.45, e = 0.02;
    float light = 0.0;
    for (int j = -3; j <= 3; j++) {
        for (int i = -3; i <= 3; i++) {
            vec2 q = p + vec2(i, j) * (reach / 3.0);
            float h = ripple(q);
            vec3 n = normalize(vec3(h - ripple(q + vec2(e, 0.0)), h - ripple(q + vec2(0.0, e)), e));
            vec3 d = refract(vec3(0.0, 0.0, -1.0), n, 0.75);
            vec2 lands = q + d.xy / max(-d.z, 0.1) * 1.4 - p;
            light += exp(-40.0 * dot(lands, lands));
        }
    }
    fragColor = vec4(vec3(0.05, 0.25, 0.35) + vec3(0.6, 0.8, 0.75) * 0.35 * light, 1.0);
}
