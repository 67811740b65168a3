// A fractal flame: a chaos game of three variations, whose points near the pixel leave light.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 variation(int which, vec2 p) {
    float r2 = dot(p, p) + 1e-4;
    switch (which) {
    case 0: return sin(p);
    case 1: return p / r2;
    default: return vec2(p.x * sin(r2) - p.y * cos(r2), p.x * cos(r2) + p.y * sin(r2));
    }
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = 1.5 * (2.0 * fragCoord - iResolution.xy) / iResolution.y, p = vec2(0.1, 0.2);
    uint seed = 12345u;
    vec3 sum = vec3(0.0), tint = vec3(0.5);
    for (int i = 0; i < 160; i++) {
        seed = seed * 1664525u + 1013904223u;
        int which = int((seed >> 16) % 3u);
        float a = 2.0 * float(which) + 0.3 * iTime;
        p = variation(which, mat2(cos(a), -sin(a), sin(a), cos(a)) * p * 0.9 + vec2(0.4, -0.3) * float(which - 1));
        tint = mix(tint, vec3(which == 0, which == 1, which == 2), 0.5);
        if (i < 8) continue;
        vec2 d = uv - p;
        sum += tint * exp(-90.0 * dot(d, d));
    }
    fragColor = vec4(1.0 - exp(-0.9 * sum), 1.0);
}
