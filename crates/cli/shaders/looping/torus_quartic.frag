// A torus hit exactly: the quartic along the ray, its roots between those of derivatives found by bracketed Newton steps.
// SPDX-License-Identifier: MIT OR Apache-2.0
const float R = 1.0, r = 0.38;

float quartic(float t, vec4 c) {
    return (((t + c.x) * t + c.y) * t + c.z) * t + c.w;
}

float slope(float t, vec4 c) {
    return ((4.0 * t + 3.0 * c.x) * t + 2.0 * c.y) * t + c.z;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, 0.0, 4.0), d = normalize(vec3(uv, -2.3));
    float a = 0.7 * iTime, k = cos(a), s = sin(a);
    mat3 turn = mat3(1.0, 0.0, 0.0, 0.0, k, s, 0.0, -s, k) * mat3(0.8, 0.6, 0.0, -0.6, 0.8, 0.0, 0.0, 0.0, 1.0);
    o = turn * o;
    d = turn * d;
    float shift = -dot(o, d);
    o += shift * d;
    float m = dot(o, o), n = dot(o, d), q = m - r * r - R * R;
    vec4 c = vec4(4.0 * n, 2.0 * q + 4.0 * n * n + 4.0 * R * R * d.z * d.z, 4.0 * n * q + 8.0 * R * R * o.z * d.z, q * q - 4.0 * R * R * (r * r - o.z * o.z));
    float hit = 1e3, t0 = -1.5, f0 = quartic(t0, c);
    for (int i = 1; i <= 24 && hit > 1e2; i++) {
        float t1 = -1.5 + 0.125 * float(i), f1 = quartic(t1, c);
        if (f0 > 0.0 && f1 <= 0.0) {
            float low = t0, high = t1, t = 0.5 * (t0 + t1);
            for (int step_no = 0; step_no < 12; step_no++) {
                float f = quartic(t, c);
                if (abs(f) < 1e-5) break;
                if (f > 0.0) low = t; else high = t;
                t -= f / slope(t, c);
                if (t <= low || t >= high) t = 0.5 * (low + high);
            }
            hit = t;
        }
        t0 = t1;
        f0 = f1;
    }
    vec3 colour = vec3(0.9, 0.9, 0.92) - 0.25 * length(uv);
    if (hit < 1e2) {
        vec3 p = o + hit * d, around = normalize(vec3(p.xy, 0.0)) * R, nrm = normalize(p - around);
        float u = atan(p.y, p.x), v = atan(nrm.z, dot(nrm, normalize(around)));
        float check = step(0.0, sin(8.0 * u) * sin(4.0 * v));
        colour = mix(vec3(0.75, 0.2, 0.2), vec3(0.95, 0.9, 0.8), check) * (0.25 + 0.75 * max(dot(nrm, -d), 0.0));
    }
    fragColor = vec4(colour, 1.0);
}
