// Ridged multifractal of simplex noise in two dimensions.
// SPDX-License-Identifier: MIT OR Apache-2.0
float simplex(vec2 p) {
    vec2 i = floor(p + 0.36602540 * (p.x + p.y)), a = p - i + 0.21132487 * (i.x + i.y);
    vec2 o = a.x > a.y ? vec2(1.0, 0.0) : vec2(0.0, 1.0);
    float sum = 0.0;
    for (int k = 0; k < 3; k++) {
        vec2 corner = k == 0 ? vec2(0.0) : k == 1 ? o : vec2(1.0);
        vec2 d = a - corner + 0.21132487 * float(k);
        float h = max(0.5 - dot(d, d), 0.0);
        vec2 c = i + corner;
        vec2 g = fract(sin(vec2(dot(c, vec2(127.1, 311.7)), dot(c, vec2(269.5, 183.3)))) * 43758.5453) * 2.0 - 1.0;
        h *= h;
        sum += h * h * dot(d, g);
    }
    return 70.0 * sum;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 2.5 * fragCoord / iResolution.y + 0.1 * iTime;
    float sum = 0.0, weight = 1.0, frequency = 1.0, amplitude = 0.5;
    for (int octave = 0; octave < 7; octave++) {
        float n = 1.0 - abs(simplex(frequency * p));
        n *= n * weight;
        weight = clamp(2.0 * n, 0.0, 1.0);
        sum += amplitude * n;
        frequency *= 2.0;
        amplitude *= 0.5;
    }
    fragColor = vec4(mix(vec3(0.05, 0.1, 0.2), vec3(0.9, 0.95, 1.0), sum * sum), 1.0);
}
