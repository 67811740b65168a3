// Distance to cubic Bézier curves: coarse samples pick a parameter, Newton's method refines it.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 curve(vec2 a, vec2 b, vec2 c, vec2 d, float t) {
    float s = 1.0 - t;
    return s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d;
}

float cubic(vec2 p, vec2 a, vec2 b, vec2 c, vec2 d) {
    float best = 1e9, at = 0.0;
    for (int i = 0; i <= 8; i++) {
        float t = float(i) / 8.0;
        vec2 q = curve(a, b, c, d, t) - p;
        float r = dot(q, q);
        if (r < best) {
            best = r;
            at = t;
        }
    }
    for (int i = 0; i < 4; i++) {
        float s = 1.0 - at;
        vec2 q = curve(a, b, c, d, at) - p;
        vec2 d1 = 3.0 * (s * s * (b - a) + 2.0 * s * at * (c - b) + at * at * (d - c));
        vec2 d2 = 6.0 * (s * (c - 2.0 * b + a) + at * (d - 2.0 * c + b));
        float bend = dot(d1, d1) + dot(q, d2);
        if (abs(bend) < 1e-6) break;
        at = clamp(at - dot(q, d1) / bend, 0.0, 1.0);
    }
    return length(curve(a, b, c, d, at) - p);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 colour = vec3(0.97, 0.95, 0.9);
    for (int k = 0; k < 6; k++) {
        float s = float(k) - 2.5;
        vec2 a = vec2(-1.4, 0.3 * s), d = vec2(1.4, 0.25 * s + 0.2 * sin(iTime + s));
        vec2 b = vec2(-0.4 + 0.3 * sin(iTime * 0.7 + s), 1.4 * sin(s)), c = vec2(0.5, -1.3 * cos(s + iTime));
        float h = cubic(p, a, b, c, d);
        colour = mix(colour, 0.5 + 0.5 * cos(s + vec3(0.0, 2.0, 4.0)), smoothstep(0.03, 0.02, h));
        colour *= 0.9 + 0.1 * smoothstep(0.02, 0.1, h);
    }
    fragColor = vec4(colour, 1.0);
}
