// A square wave drawn by epicycles: the chain of circles, its tip's trail, and the sum of its series on the right.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec2 centre = vec2(-0.6, 0.0);
    float ink = 0.0;
    for (int n = 1; n < 16; n += 2) {
        float r = 0.5 / float(n), a = float(n) * iTime * 1.5;
        ink += smoothstep(0.012, 0.004, abs(length(p - centre) - r)) * 0.5;
        vec2 tip = centre + r * vec2(cos(a), sin(a)), e = tip - centre, w = p - centre;
        ink += smoothstep(0.012, 0.004, length(w - e * clamp(dot(w, e) / dot(e, e), 0.0, 1.0)));
        centre = tip;
    }
    float x = p.x - 0.2, y = 0.0, slope = 0.0;
    if (x > 0.0) {
        for (float n = 1.0; n < 16.0; n += 2.0) {
            y += 0.5 / n * sin(n * (1.5 * iTime - 4.0 * x));
            slope -= 2.0 * cos(n * (1.5 * iTime - 4.0 * x));
        }
        ink += smoothstep(0.015, 0.005, abs(p.y - y) / sqrt(1.0 + slope * slope));
    }
    fragColor = vec4(mix(vec3(0.96, 0.95, 0.9) - 0.1 * p.y, vec3(0.1, 0.2, 0.5), min(ink, 1.0)), 1.0);
}
