// Newton's method on z⁵ − 1 with a complex relaxation; basins by root, shade by speed.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 mul(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
vec2 div(vec2 a, vec2 b) { return vec2(dot(a, b), a.y * b.x - a.x * b.y) / max(dot(b, b), 1e-9); }

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 z = 1.6 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec2 relax = vec2(1.0 + 0.3 * sin(0.5 * iTime), 0.35 * cos(0.4 * iTime));
    float n = 0.0;
    for (int i = 0; i < 40; i++) {
        vec2 z2 = mul(z, z), z4 = mul(z2, z2);
        vec2 step_by = mul(relax, div(mul(z4, z) - vec2(1.0, 0.0), 5.0 * z4));
        z -= step_by;
        float s = dot(step_by, step_by);
        n += exp(-1.0 / (s + 0.05));
        if (s < 1e-7) break;
    }
    float root = atan(z.y, z.x);
    fragColor = vec4((0.55 + 0.45 * cos(root + vec3(0.0, 2.1, 4.2))) * (0.3 + 0.7 * exp(-0.25 * n)), 1.0);
}
