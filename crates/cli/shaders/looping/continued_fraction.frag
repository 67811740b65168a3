// How well the pixel's ratio is approximated: partial quotients until the error falls below a level, convergents by recurrence.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    float x = fragCoord.x / iResolution.x * 3.0 + 0.01 * iTime, eps = exp2(-2.0 - 14.0 * fragCoord.y / iResolution.y), rest = x;
    vec2 p = vec2(1.0, 0.0), q = vec2(0.0, 1.0);
    int terms = 0;
    float largest = 0.0;
    for (; terms < 12; terms++) {
        float a = floor(rest);
        p = vec2(a * p.x + p.y, p.x);
        q = vec2(a * q.x + q.y, q.x);
        if (terms > 0) largest = max(largest, a);
        float f = rest - a;
        if (abs(x - p.x / q.x) < eps || f < 1e-5) break;
        rest = 1.0 / f;
    }
    fragColor = vec4(float(terms) / 9.0, 1.0 / (1.0 + 0.2 * largest), 0.5 + 0.5 * sin(q.x), 1.0);
}
