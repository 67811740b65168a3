// Lightning: a midpoint-displaced bolt refined towards the pixel's height, with forks; no stored points.
// SPDX-License-Identifier: MIT OR Apache-2.0
float rnd(float n) { return fract(sin(n * 127.1) * 43758.5453); }

float bolt(float y, float seed, int levels) {
    float low = -1.0, high = 1.0, a = 0.3 * (rnd(seed) - 0.5), b = 0.3 * (rnd(seed + 1.0) - 0.5), size = 0.5, id = seed;
    while (levels-- > 0) {
        float mid = 0.5 * (low + high), m = 0.5 * (a + b) + size * (rnd(id * 1.37 + 11.0) - 0.5);
        if (y < mid) {
            high = mid;
            b = m;
            id = 2.0 * id + 1.0;
        } else {
            low = mid;
            a = m;
            id = 2.0 * id + 2.0;
        }
        id = mod(id, 997.0);
        size *= 0.55;
    }
    return mix(a, b, (y - low) / (high - low));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float flash = floor(4.0 * iTime), sum = 0.0;
    for (int fork = 0; fork < 5; fork++) {
        float root = fork == 0 ? 1.0 : 0.8 - 0.35 * float(fork), seed = 31.0 * flash + 7.0 * float(fork);
        if (p.y > root + 0.02) continue;
        float x = bolt(p.y, 31.0 * flash, 8);
        if (fork > 0) x = bolt(root, 31.0 * flash, 8) + (bolt(p.y, seed, 7) - bolt(root, seed, 7)) + 0.5 * (rnd(seed) - 0.5) * (root - p.y);
        float d = abs(p.x - x), strength = fork == 0 ? 1.0 : 0.45 * smoothstep(-1.0, root, p.y);
        sum += strength * (0.006 / (d + 0.003) + 0.04 / (d + 0.15));
    }
    fragColor = vec4(vec3(0.05, 0.05, 0.12) + sum * vec3(0.5, 0.55, 0.9), 1.0);
}
