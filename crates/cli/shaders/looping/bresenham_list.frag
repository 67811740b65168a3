// A rasteriser's view: sixteen lines as Bresenham would draw them; for each the row's pixel at this column is stepped to.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    ivec2 p = ivec2(fragCoord) / 4;
    vec3 colour = vec3(0.06, 0.07, 0.1) + 0.03 * float((p.x ^ p.y) & 1);
    for (int line = 0; line < 6; line++) {
        float a = 1.047 * float(line) + 0.3 * iTime;
        ivec2 from = ivec2(64, 48), to = from + ivec2(44.0 * vec2(cos(a), sin(a)));
        ivec2 d = abs(to - from), s = ivec2(from.x < to.x ? 1 : -1, from.y < to.y ? 1 : -1);
        ivec2 at = from;
        int error = d.x - d.y;
        for (int i = 0; i < 48; i++) {
            if (at == p) {
                colour = 0.5 + 0.5 * cos(float(line) + vec3(0.0, 2.0, 4.0));
                break;
            }
            if (at == to) break;
            int twice = 2 * error;
            if (twice > -d.y) { error -= d.y; at.x += s.x; }
            if (twice < d.x) { error += d.x; at.y += s.y; }
        }
    }
    fragColor = vec4(colour, 1.0);
}
