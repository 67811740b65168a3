// Sparse Gabor convolution noise: a few impulses a cell from a Poisson-like count, anisotropy turning over the frame.
// SPDX-License-Identifier: MIT OR Apache-2.0
uint state;

float next() {
    state = state * 3039177861u + 1u;
    return float(state >> 8) / 16777216.0;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 9.0 * fragCoord / iResolution.y;
    float turn = 1.5 * fragCoord.x / iResolution.x + 0.3 * iTime, sum = 0.0;
    vec2 wave = vec2(cos(turn), sin(turn)), cell = floor(p);
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) {
            vec2 c = cell + vec2(i, j);
            state = uint(int(c.x) * 1597 + int(c.y) * 51749 + 7919) * 2654435761u;
            int impulses = 2 + int(4.0 * next());
            for (int k = 0; k < impulses; k++) {
                vec2 d = p - c - vec2(next(), next());
                float weight = 2.0 * next() - 1.0, r2 = dot(d, d);
                if (r2 >= 1.0) continue;
                sum += weight * exp(-3.14159 * 1.2 * r2) * (1.0 - r2) * cos(6.2832 * 2.2 * dot(d, wave));
            }
        }
    }
    float v = 0.5 + 0.45 * sum;
    fragColor = vec4(vec3(v, v * v, 0.3 + 0.4 * v), 1.0);
}
