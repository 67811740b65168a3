// A binary tree of boxes over 32 balls, walked with an explicit stack: nearer child first, boxes beyond the hit are skipped.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec4 ball(int i) {
    float k = float(i);
    return vec4(0.22 * (k - 15.5), 0.7 * sin(1.7 * k + 0.5 * iTime), 0.9 * cos(2.3 * k), 0.12 + 0.1 * fract(0.618 * k));
}

float box(vec3 o, vec3 inv, int first, int last) {
    vec3 low = vec3(0.22 * (float(first) - 15.5) - 0.22, -0.92, -1.12), high = vec3(0.22 * (float(last) - 15.5) + 0.22, 0.92, 1.12);
    vec3 a = (low - o) * inv, b = (high - o) * inv, n = min(a, b), f = max(a, b);
    float near = max(max(n.x, n.y), n.z), far = min(min(f.x, f.y), f.z);
    return near <= far && far > 0.0 ? near : 1e4;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(4.0 * sin(0.2 * iTime), 1.0, 6.0), d = normalize(vec3(0.9 * uv.x - 0.5 * sin(0.2 * iTime), 0.9 * uv.y - 0.15, -1.7)), inv = 1.0 / (d + 1e-5);
    ivec2 stack[8];
    int top = 0, visited = 0, found = -1;
    stack[0] = ivec2(0, 31);
    float t = 1e3;
    while (top >= 0) {
        ivec2 node = stack[top--];
        visited++;
        if (box(o, inv, node.x, node.y) > t) continue;
        if (node.y - node.x < 2) {
            for (int i = node.x; i <= node.y; i++) {
                vec4 s = ball(i);
                vec3 c = o - s.xyz;
                float b = dot(c, d), h = b * b - dot(c, c) + s.w * s.w;
                if (h > 0.0 && -b - sqrt(h) > 0.0 && -b - sqrt(h) < t) {
                    t = -b - sqrt(h);
                    found = i;
                }
            }
            continue;
        }
        int middle = (node.x + node.y) / 2;
        bool forwards = d.x > 0.0;
        stack[++top] = forwards ? ivec2(middle + 1, node.y) : ivec2(node.x, middle);
        stack[++top] = forwards ? ivec2(node.x, middle) : ivec2(middle + 1, node.y);
    }
    vec3 colour = vec3(0.04, 0.05, 0.08) + 0.012 * float(visited);
    if (found >= 0) {
        vec4 s = ball(found);
        vec3 n = (o + t * d - s.xyz) / s.w;
        colour = (0.55 + 0.45 * cos(float(found) + vec3(0.0, 2.0, 4.0))) * (0.15 + 0.85 * max(dot(n, normalize(vec3(0.4, 0.8, 0.5))), 0.0));
    }
    fragColor = vec4(colour, 1.0);
}
