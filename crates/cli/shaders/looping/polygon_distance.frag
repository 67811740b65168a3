// A star polygon whose corners move: signed distance by a loop over its edges with the winding rule of crossing numbers.
// SPDX-License-Identifier: MIT OR Apache-2.0
const int N = 16;

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec2 v[N];
    for (int i = 0; i < N; i++) {
        float a = 6.2832 * float(i) / float(N), r = (i & 1) == 0 ? 0.85 : 0.4 + 0.15 * sin(iTime + float(i));
        v[i] = r * vec2(cos(a), sin(a));
    }
    float d = dot(p - v[0], p - v[0]), side = 1.0;
    for (int i = 0, j = N - 1; i < N; j = i, i++) {
        vec2 e = v[j] - v[i], w = p - v[i];
        vec2 b = w - e * clamp(dot(w, e) / dot(e, e), 0.0, 1.0);
        d = min(d, dot(b, b));
        bvec3 c = bvec3(p.y >= v[i].y, p.y < v[j].y, e.x * w.y > e.y * w.x);
        if (all(c) || all(not(c))) side = -side;
    }
    d = side * sqrt(d);
    vec3 colour = d > 0.0 ? vec3(0.9, 0.6, 0.3) : vec3(0.4, 0.7, 0.85);
    colour *= (1.0 - exp(-7.0 * abs(d))) * (0.8 + 0.2 * cos(120.0 * d));
    fragColor = vec4(mix(colour, vec3(1.0), smoothstep(0.015, 0.0, abs(d))), 1.0);
}
