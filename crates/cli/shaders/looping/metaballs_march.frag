// Soft balls of Wyvill's falloff: the ray only walks where a ball's reach begins, and looks for the level in between.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec3 centre(int i) {
    float k = float(i), t = iTime;
    return vec3(sin(t + 2.1 * k), 0.7 * cos(0.8 * t + 1.7 * k), 0.8 * sin(0.6 * t + 2.9 * k));
}

float density(vec3 p) {
    float sum = 0.0;
    for (int i = 0; i < 7; i++) {
        vec3 q = p - centre(i);
        float r = dot(q, q) / 0.81;
        if (r < 1.0) {
            float s = 1.0 - r;
            sum += s * s * s;
        }
    }
    return sum;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, 0.0, 4.0), d = normalize(vec3(uv, -2.0));
    float first = 1e3, last = 0.0;
    for (int i = 0; i < 7; i++) {
        vec3 c = o - centre(i);
        float b = dot(c, d), h = b * b - dot(c, c) + 0.81;
        if (h < 0.0) continue;
        h = sqrt(h);
        first = min(first, -b - h);
        last = max(last, -b + h);
    }
    vec3 colour = 0.15 + 0.1 * vec3(uv.y, 0.5 * uv.y, -uv.y);
    float t = first;
    while (t < last) {
        vec3 p = o + t * d;
        if (density(p) > 0.35) {
            vec2 e = vec2(0.01, 0.0);
            float v = density(p);
            vec3 n = normalize(v - vec3(density(p + e.xyy), density(p + e.yxy), density(p + e.yyx)));
            colour = 0.1 + vec3(0.3, 0.7, 0.5) * max(dot(n, normalize(vec3(0.5, 0.8, 0.6))), 0.0) + pow(max(reflect(d, n).y, 0.0), 12.0);
            break;
        }
        t += 0.05;
    }
    fragColor = vec4(colour, 1.0);
}
