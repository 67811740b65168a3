// A meadow: blades in rows from near to far, each a bent tapered stroke, the nearest covering one ends the loop.
// SPDX-License-Identifier: MIT OR Apache-2.0
float rnd(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453); }

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = vec2(fragCoord.x / iResolution.y, fragCoord.y / iResolution.y);
    vec3 colour = mix(vec3(0.75, 0.85, 0.95), vec3(0.4, 0.6, 0.9), uv.y);
    bool covered = false;
    for (int row = 0; row < 9 && !covered; row++) {
        float far = float(row) / 8.0, scale = mix(9.0, 60.0, far), ground = 0.62 * far * (1.6 - 0.6 * far);
        float column = floor(uv.x * scale);
        if (uv.y > ground + 0.35 * (1.0 - 0.85 * far)) continue;
        for (int k = -2; k <= 2; k++) {
            float id = column + float(k), h = (0.12 + 0.2 * rnd(vec2(id, row))) * (1.0 - 0.85 * far);
            float y = (uv.y - ground) / h;
            if (y < 0.0 || y > 1.0) continue;
            float wind = 0.6 * sin(iTime + 0.3 * id + 2.0 * far) + rnd(vec2(row, id)) - 0.5;
            float x = (id + 0.5 + 0.9 * wind * y * y) / scale;
            if (abs(uv.x - x) < 0.35 / scale * (1.0 - y)) {
                colour = mix(vec3(0.05, 0.2, 0.02), vec3(0.45, 0.65, 0.15), y) * (0.7 + 0.4 * rnd(vec2(id, 7 + row)));
                colour = mix(colour, vec3(0.7, 0.8, 0.85), 0.6 * far);
                covered = true;
                break;
            }
        }
    }
    fragColor = vec4(colour, 1.0);
}
