// Each cell's place along a Hilbert curve, by rotating its quadrant bit by bit, as a colour; the curve drawn over it.
// SPDX-License-Identifier: MIT OR Apache-2.0
int place(ivec2 p, int n) {
    int d = 0;
    for (int s = n / 2; s > 0; s /= 2) {
        ivec2 r = ivec2((p.x & s) > 0, (p.y & s) > 0);
        d += s * s * ((3 * r.x) ^ r.y);
        if (r.y == 0) {
            if (r.x == 1) p = ivec2(n - 1) - p;
            p = p.yx;
        }
    }
    return d;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    int n = 8 << (int(iTime) % 3);
    vec2 p = fragCoord / iResolution.y * float(n) - vec2(0.16 * float(n), 0.0);
    ivec2 cell = ivec2(floor(p));
    vec3 colour = vec3(0.1);
    if (all(greaterThanEqual(cell, ivec2(0))) && all(lessThan(cell, ivec2(n)))) {
        int here = place(cell, n);
        float t = float(here) / float(n * n);
        colour = 0.5 + 0.5 * cos(6.2832 * (t + vec3(0.0, 0.33, 0.67)));
        vec2 q = fract(p) - 0.5;
        for (int k = 0; k < 4; k++) {
            ivec2 side = ivec2(k == 0 ? 1 : k == 1 ? -1 : 0, k == 2 ? 1 : k == 3 ? -1 : 0);
            ivec2 other = cell + side;
            if (any(lessThan(other, ivec2(0))) || any(greaterThanEqual(other, ivec2(n)))) continue;
            if (abs(place(other, n) - here) == 1) {
                vec2 s = vec2(side);
                float d = length(q - s * clamp(dot(q, s), 0.0, 0.5));
                colour *= smoothstep(0.06, 0.12, d);
            }
        }
    }
    fragColor = vec4(colour, 1.0);
}
