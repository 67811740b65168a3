// Worley noise in three octaves: the two nearest feature points of 3 × 3 cells.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 point(vec2 cell) {
    vec2 h = fract(sin(vec2(dot(cell, vec2(127.1, 311.7)), dot(cell, vec2(269.5, 183.3)))) * 43758.5453);
    return 0.5 + 0.4 * sin(iTime + 6.2832 * h);
}

vec2 worley(vec2 x) {
    vec2 i = floor(x), f = fract(x), best = vec2(8.0);
    for (int y = -1; y <= 1; y++) {
        for (int k = -1; k <= 1; k++) {
            vec2 g = vec2(k, y), r = g + point(i + g) - f;
            float d = dot(r, r);
            if (d < best.x) best = vec2(d, best.x);
            else if (d < best.y) best.y = d;
        }
    }
    return sqrt(best);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 4.0 * fragCoord / iResolution.y;
    float sum = 0.0, weight = 0.6;
    for (int octave = 0; octave < 3; octave++) {
        vec2 f = worley(p);
        sum += weight * (f.y - f.x);
        p = 2.1 * p + 3.7;
        weight *= 0.5;
    }
    fragColor = vec4(mix(vec3(0.1, 0.05, 0.0), vec3(0.95, 0.85, 0.6), smoothstep(0.0, 0.7, sum)), 1.0);
}
