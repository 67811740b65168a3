// Sixteen birds that keep together: a few rounds of the three rules from a start by time, drawn as wedges.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    const int N = 16;
    vec2 x[N], v[N];
    for (int i = 0; i < N; i++) {
        float a = 2.4 * float(i) + 0.4 * floor(iTime);
        x[i] = (0.2 + 0.05 * float(i)) * vec2(cos(a), sin(a));
        v[i] = vec2(cos(1.7 * a), sin(1.3 * a)) * 0.3;
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            vec2 centre = vec2(0.0), heading = vec2(0.0), apart = vec2(0.0);
            float seen = 0.0;
            for (int j = 0; j < N; j++) {
                vec2 d = x[j] - x[i];
                float r2 = dot(d, d);
                if (j == i || r2 > 0.36) continue;
                centre += d;
                heading += v[j];
                if (r2 < 0.02) apart -= d / (r2 + 1e-3);
                seen += 1.0;
            }
            if (seen > 0.0) v[i] += 0.15 * centre / seen + 0.1 * (heading / seen - v[i]) + 0.01 * apart;
            v[i] = normalize(v[i] + 1e-5) * clamp(length(v[i]), 0.15, 0.6);
        }
        for (int i = 0; i < N; i++) x[i] += 0.3 * (0.5 + 0.5 * fract(iTime)) * v[i];
    }
    vec3 colour = vec3(0.85, 0.9, 0.95) - 0.2 * p.y;
    for (int i = 0; i < N; i++) {
        vec2 d = normalize(v[i]), q = p - x[i];
        q = vec2(dot(q, d), dot(q, vec2(-d.y, d.x)));
        float wedge = max(abs(q.y) - 0.25 * (0.06 - q.x), -0.06 - q.x);
        colour = mix(colour, 0.35 + 0.25 * cos(float(i) + vec3(0.0, 2.0, 4.0)), smoothstep(0.008, 0.0, wedge) * step(q.x, 0.06));
    }
    fragColor = vec4(colour, 1.0);
}
