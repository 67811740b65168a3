// Voronoi cells with exact distances to their borders: a second pass over 5 × 5 cells around the nearest point.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 hash2(vec2 p) {
    return textureLod(iChannel0, (p + 0.5) / 256.0, 0.0).xy;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 x = 7.0 * fragCoord / iResolution.y, n = floor(x), f = fract(x), nearest_cell = vec2(0.0), nearest = vec2(0.0);
    float d = 8.0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            vec2 g = vec2(i, j), o = 0.5 + 0.5 * sin(iTime + 12.0 * hash2(n + g)), r = g + o - f;
            float q = dot(r, r);
            if (q < d) {
                d = q;
                nearest = r;
                nearest_cell = g;
            }
        }
    float border = 8.0;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++) {
            vec2 g = nearest_cell + vec2(i, j), o = 0.5 + 0.5 * sin(iTime + 12.0 * hash2(n + g)), r = g + o - f, e = r - nearest;
            if (dot(e, e) > 1e-5) border = min(border, dot(0.5 * (nearest + r), normalize(e)));
        }
    vec3 colour = border * (0.5 + 0.5 * sin(64.0 * border)) * vec3(1.0);
    colour = mix(vec3(1.0, 0.6, 0.0), colour, smoothstep(0.04, 0.07, border));
    fragColor = vec4(mix(vec3(1.0, 0.6, 0.1), colour, smoothstep(0.0, 0.12, sqrt(d))), 1.0);
}
