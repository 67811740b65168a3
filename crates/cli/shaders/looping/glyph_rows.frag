// A terminal: letters of a 5 × 7 font packed in integers, drawn by a loop over the rows of glyphs near the pixel, with phosphor glow.
// SPDX-License-Identifier: MIT OR Apache-2.0
const int FONT[8] = int[8](0x0E9F99E, 0x1E9E9E0, 0x0F8887F, 0x1E999E1, 0x0F8E8F1, 0x1F8E883, 0x0E8B97F, 0x199F999);

int glyph(ivec2 cell) {
    int n = cell.x * 1973 + cell.y * 9277 + int(iTime * 3.0) * 26699;
    n = (n << 13) ^ n;
    return (n * (n * n * 15731 + 789221) + 1376312589) & 7;
}

float lit(ivec2 pixel) {
    ivec2 cell = ivec2(floor(vec2(pixel) / vec2(6.0, 9.0))), at = pixel - cell * ivec2(6, 9);
    if (at.x > 3 || at.y > 6) return 0.0;
    return float((FONT[glyph(cell)] >> (at.x + 4 * at.y)) & 1);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = fragCoord / iResolution.y * 160.0;
    p += 2.0 * sin(0.03 * p.yx);
    ivec2 base = ivec2(floor(p));
    float sum = 0.0;
    for (int y = -3; y <= 3; y++) {
        for (int x = -3; x <= 3; x++) {
            ivec2 q = base + ivec2(x, y);
            float w = lit(q);
            if (w == 0.0) continue;
            vec2 d = p - vec2(q) - 0.5;
            sum += exp(-2.2 * dot(d, d)) + 0.06 / (1.0 + dot(d, d));
        }
    }
    float scan = 0.8 + 0.2 * cos(6.2832 * p.y);
    fragColor = vec4(vec3(0.2, 1.0, 0.4) * sum * scan + vec3(0.01, 0.03, 0.02), 1.0);
}
