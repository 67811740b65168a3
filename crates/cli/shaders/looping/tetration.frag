// Power towers: how fast z ← c^z leaves, in complex logarithms.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 c = (2.4 + sin(0.3 * iTime)) * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec2 l = vec2(0.5 * log(max(dot(c, c), 1e-8)), atan(c.y, c.x)), z = c;
    int n = 0;
    do {
        vec2 e = vec2(l.x * z.x - l.y * z.y, l.x * z.y + l.y * z.x);
        z = exp(min(e.x, 40.0)) * vec2(cos(e.y), sin(e.y));
        if (abs(e.x) > 38.0) break;
    } while (++n < 30);
    vec3 colour = n == 30 ? vec3(0.5 + 0.3 * sin(z.x), 0.4 + 0.3 * cos(z.y), 0.6) : 0.5 + 0.5 * cos(0.6 * float(n) + vec3(0.0, 1.0, 2.0));
    fragColor = vec4(colour, 1.0);
}
