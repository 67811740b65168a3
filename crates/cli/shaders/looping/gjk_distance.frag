// The distance between two convex polygons by Frank and Wolfe's iteration on their Minkowski difference, for every placement.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 support(vec2 d, float turn, int corners, float size) {
    float best = -1e3;
    vec2 found = vec2(0.0);
    for (int i = 0; i < corners; i++) {
        float a = turn + 6.2832 * float(i) / float(corners);
        vec2 v = size * vec2(cos(a), sin(a));
        float along = dot(v, d);
        if (along > best) {
            best = along;
            found = v;
        }
    }
    return found;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 place = 1.3 * (2.0 * fragCoord - iResolution.xy) / iResolution.y, v = place;
    int n = 0;
    float gap = 1.0;
    while (n < 16) {
        vec2 w = place + support(-v, 0.4 * iTime, 5, 0.4) - support(v, -0.3 * iTime, 3, 0.5);
        gap = dot(v, v - w);
        if (gap < 1e-3 || dot(v, v) < 1e-4) break;
        vec2 e = w - v;
        v += e * clamp(dot(-v, e) / max(dot(e, e), 1e-8), 0.0, 1.0);
        n++;
    }
    float d = length(v);
    vec3 colour = d < 0.03 ? vec3(0.9, 0.3, 0.2) : mix(vec3(0.9, 0.9, 0.8), vec3(0.2, 0.3, 0.5), d) * (0.85 + 0.15 * cos(60.0 * d));
    fragColor = vec4(colour * (1.0 - 0.03 * float(n)), 1.0);
}
