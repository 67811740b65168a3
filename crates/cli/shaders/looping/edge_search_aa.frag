// Morphological antialiasing in one pass: at an edge two while loops look for its ends, and the coverage follows from the distances.
// SPDX-License-Identifier: MIT OR Apache-2.0
float luma(vec2 p) {
    vec2 q = (2.0 * floor(p) + 1.0 - iResolution.xy) / iResolution.y;
    float a = atan(q.y, q.x) + 0.2 * iTime, r = length(q);
    return step(0.0, sin(14.0 * a + 3.0 * r) + 0.4 * sin(90.0 * r) + 0.8 * sin(0.9 * p.y + 0.05 * p.x));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = floor(fragCoord) + 0.5;
    float m = luma(p), up = luma(p + vec2(0, 1)), left = luma(p - vec2(1, 0)), down = luma(p - vec2(0, 1)), right = luma(p + vec2(1, 0));
    float value = m;
    bool horizontal = up != m || down != m;
    if (horizontal || left != m || right != m) {
        vec2 along = horizontal ? vec2(1, 0) : vec2(0, 1), across = horizontal ? vec2(0, up != m ? 1 : -1) : vec2(right != m ? 1 : -1, 0);
        float before = 0.0, after = 0.0;
        while (before < 12.0) {
            vec2 q = p - along * (before + 1.0);
            if (luma(q) != m || luma(q + across) == m) break;
            before += 1.0;
        }
        while (after < 12.0) {
            vec2 q = p + along * (after + 1.0);
            if (luma(q) != m || luma(q + across) == m) break;
            after += 1.0;
        }
        float near = min(before, after), whole = before + after + 1.0;
        value = mix(m, 1.0 - m, max(0.0, 0.5 - (near + 0.5) / whole));
    }
    fragColor = vec4(mix(vec3(0.1, 0.15, 0.3), vec3(1.0, 0.9, 0.7), value), 1.0);
}
