// Forty bodies: the potential at the pixel and the field's direction, all pairs along the way for the bodies' own motion.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y, field = vec2(0.0);
    const int N = 12;
    vec2 at[N], v[N];
    for (int i = 0; i < N; i++) {
        float a = 2.39996 * float(i), r = 0.25 + 0.06 * float(i);
        at[i] = r * vec2(cos(a), sin(a));
        v[i] = 0.35 * vec2(-sin(a), cos(a)) * (1.0 + 0.2 * sin(iTime + a));
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            vec2 force = vec2(0.0);
            for (int j = 0; j < N; j++) {
                if (i == j) continue;
                vec2 d = at[j] - at[i];
                float r2 = dot(d, d) + 0.02;
                force += 0.01 * d / (r2 * sqrt(r2));
            }
            v[i] += 0.2 * force;
        }
        for (int i = 0; i < N; i++) at[i] += 0.2 * v[i];
    }
    float potential = 0.0;
    for (int i = 0; i < N; i++) {
        vec2 d = at[i] - p;
        float r = sqrt(dot(d, d) + 1e-4);
        potential += 0.06 / r;
        field += d / (r * r * r);
    }
    float lines = 0.5 + 0.5 * cos(14.0 * potential), a = atan(field.y, field.x);
    fragColor = vec4(mix(vec3(0.05), 0.5 + 0.5 * cos(a + vec3(0.0, 2.1, 4.2)), lines) * (0.3 + 0.3 * potential), 1.0);
}
