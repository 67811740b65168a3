// Two-dimensional lights: each lamp's visibility by tracing circles through a flat scene of shapes.
// SPDX-License-Identifier: MIT OR Apache-2.0
float flat_scene(vec2 p) {
    float d = length(p - vec2(0.4, 0.2)) - 0.18;
    vec2 q = abs(p - vec2(-0.5, -0.2)) - vec2(0.15, 0.25);
    d = min(d, length(max(q, 0.0)) + min(max(q.x, q.y), 0.0));
    for (int i = 0; i < 5; i++) {
        float a = 1.2566 * float(i) + 0.2 * iTime;
        d = min(d, length(p - 0.85 * vec2(cos(a), sin(a))) - 0.06);
    }
    return d;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 sum = vec3(0.02);
    for (int lamp = 0; lamp < 4; lamp++) {
        float a = 1.57 * float(lamp) + 0.4 * iTime;
        vec2 at = (0.3 + 0.15 * float(lamp)) * vec2(sin(a), cos(a)), d = at - p;
        float far = length(d), t = 0.0, open = 1.0;
        d /= far;
        while (t < far) {
            float h = flat_scene(p + t * d);
            if (h < 5e-4) { open = 0.0; break; }
            open = min(open, 14.0 * h / (far - t + 0.02));
            t += max(h, 0.004);
        }
        vec3 tint = 0.5 + 0.5 * cos(float(lamp) * 1.7 + vec3(0.0, 2.0, 4.0));
        sum += tint * open * 0.15 / (0.05 + far * far);
    }
    float edge = smoothstep(0.005, -0.005, flat_scene(p));
    fragColor = vec4(mix(sum, vec3(0.15, 0.15, 0.17), edge), 1.0);
}
