// A landscape from a height texture: linear search along the ray, then the crossing by regula falsi, and a march for the shadow.
// SPDX-License-Identifier: MIT OR Apache-2.0
float ground(vec2 p) {
    return 0.7 * textureLod(iChannel0, 0.11 * p, 0.0).r + 0.3 * textureLod(iChannel0, 0.37 * p + 0.3, 0.0).g;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 eye = vec3(0.3 * iTime, 1.5, 0.2 * iTime), d = normalize(vec3(uv.x, uv.y - 0.7, 1.5));
    vec3 sky = mix(vec3(0.8, 0.7, 0.6), vec3(0.3, 0.45, 0.7), clamp(2.0 * d.y + 0.5, 0.0, 1.0)), colour = sky;
    float t = 0.2, step_length = 0.06, gap_before = 1.0;
    for (int i = 0; i < 80; i++) {
        vec3 p = eye + t * d;
        float gap = p.y - ground(p.xz);
        if (gap < 0.0) {
            float a = t - step_length, fa = gap_before, b = t, fb = gap;
            for (int k = 0; k < 5; k++) {
                float m = a + (b - a) * fa / (fa - fb);
                vec3 q = eye + m * d;
                float fm = q.y - ground(q.xz);
                if (fm < 0.0) { b = m; fb = fm; } else { a = m; fa = max(fm, 1e-5); }
            }
            p = eye + b * d;
            float h = ground(p.xz);
            vec3 n = normalize(vec3(h - ground(p.xz + vec2(0.02, 0.0)), 0.02, h - ground(p.xz + vec2(0.0, 0.02))));
            vec3 sun = normalize(vec3(-0.7, 0.5, 0.4));
            float lit = 1.0;
            for (float s = 0.04; s < 0.6; s += 0.04) {
                vec3 q = p + s * sun;
                lit = min(lit, 1.0 + 12.0 * (q.y - ground(q.xz)) / s);
                if (lit <= 0.0) break;
            }
            colour = mix(vec3(0.2, 0.35, 0.1), vec3(0.6, 0.5, 0.4), smoothstep(0.4, 0.6, h));
            colour *= 0.25 + max(lit, 0.0) * max(dot(n, sun), 0.0);
            colour = mix(colour, sky, 1.0 - exp(-0.15 * b));
            break;
        }
        gap_before = gap;
        step_length = 0.04 + 0.015 * t;
        t += step_length;
    }
    fragColor = vec4(colour, 1.0);
}
