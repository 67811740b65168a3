// Domain colouring of a rational function given by its zeros and poles, iterated as a map a few times.
// SPDX-License-Identifier: MIT OR Apache-2.0
const vec2 ZEROS[4] = vec2[4](vec2(0.8, 0.1), vec2(-0.6, 0.5), vec2(0.0, -0.9), vec2(-0.3, -0.2));
const vec2 POLES[3] = vec2[3](vec2(0.3, 0.8), vec2(-0.9, -0.4), vec2(0.6, -0.6));

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 z = 1.6 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    int rounds = 1 + int(iTime) % 3;
    do {
        vec2 w = vec2(1.0, 0.0);
        for (int i = 0; i < ZEROS.length(); i++) {
            vec2 d = z - ZEROS[i];
            w = vec2(w.x * d.x - w.y * d.y, w.x * d.y + w.y * d.x);
        }
        for (int i = 0; i < POLES.length(); i++) {
            vec2 d = z - POLES[i];
            w = vec2(dot(w, d), w.y * d.x - w.x * d.y) / (dot(d, d) + 1e-6);
        }
        z = w;
    } while (--rounds > 0 && dot(z, z) < 1e6);
    float a = atan(z.y, z.x) / 6.2832, r = log2(length(z) + 1e-6);
    vec2 grid = abs(fract(vec2(8.0 * a, r)) - 0.5);
    fragColor = vec4((0.5 + 0.5 * cos(6.2832 * (a + vec3(0.0, 0.33, 0.67)))) * (0.65 + 0.35 * smoothstep(0.02, 0.08, 0.5 - max(grid.x, grid.y))), 1.0);
}
