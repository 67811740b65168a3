// Gradient descent with momentum on Himmelblau's function: which minimum is reached, and after how many steps.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 slope(vec2 p) {
    float a = p.x * p.x + p.y - 11.0, b = p.x + p.y * p.y - 7.0;
    return vec2(4.0 * p.x * a + 2.0 * b, 2.0 * a + 4.0 * p.y * b);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 5.5 * (2.0 * fragCoord - iResolution.xy) / iResolution.y, v = vec2(0.0);
    float momentum = 0.7 + 0.2 * sin(0.4 * iTime);
    int n = 0;
    for (; n < 120; n++) {
        vec2 g = slope(p);
        v = momentum * v - 0.004 * clamp(g, -60.0, 60.0);
        p += v;
        if (dot(g, g) < 1e-3 && dot(v, v) < 1e-6) break;
    }
    vec3 colour = p.x > 0.0 ? (p.y > 0.0 ? vec3(0.9, 0.5, 0.2) : vec3(0.3, 0.7, 0.4)) : (p.y > 0.0 ? vec3(0.3, 0.5, 0.9) : vec3(0.8, 0.3, 0.6));
    fragColor = vec4(colour * (1.0 - 0.8 * float(n) / 120.0), 1.0);
}
