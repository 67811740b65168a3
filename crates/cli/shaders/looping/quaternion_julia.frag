// A Julia set of quaternions: z² + c with its derivative in four dimensions, lit by finite differences.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec4 square(vec4 q) {
    return vec4(q.x * q.x - dot(q.yzw, q.yzw), 2.0 * q.x * q.yzw);
}

float julia(vec3 p) {
    vec4 z = vec4(p, 0.0), c = vec4(-0.45 + 0.1 * sin(0.5 * iTime), 0.45, 0.18, 0.3 * cos(0.3 * iTime));
    float dz2 = 1.0, m2 = dot(z, z);
    for (int i = 0; i < 11; i++) {
        dz2 *= 4.0 * m2;
        z = square(z) + c;
        m2 = dot(z, z);
        if (m2 > 16.0) break;
    }
    return 0.25 * sqrt(m2 / max(dz2, 1e-12)) * log(max(m2, 1e-6));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 from = vec3(1.8, 0.9, 1.8), f = -normalize(from), r = normalize(cross(f, vec3(0, 1, 0))), u = cross(r, f);
    vec3 ray = normalize(uv.x * r + uv.y * u + 2.0 * f);
    float t = 1.0;
    bool hit = false;
    for (int i = 0; i < 60; i++) {
        float d = julia(from + t * ray);
        if (abs(d) < 2e-3) { hit = true; break; }
        t += d;
        if (t > 4.5) break;
    }
    vec3 colour = vec3(0.9, 0.92, 0.95) - 0.3 * length(uv);
    if (hit) {
        vec3 p = from + t * ray, n;
        for (int axis = 0; axis < 3; axis++) {
            vec3 e = vec3(0.0);
            e[axis] = 2e-3;
            n[axis] = julia(p + e) - julia(p - e);
        }
        n = normalize(n);
        vec3 h = normalize(normalize(vec3(0.3, 1.0, 0.6)) - ray);
        colour = vec3(0.35, 0.15, 0.1) + 0.5 * max(n.y, 0.0) * vec3(0.9, 0.7, 0.4) + 0.7 * pow(max(dot(n, h), 0.0), 40.0);
    }
    fragColor = vec4(colour, 1.0);
}
