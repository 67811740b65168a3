// Sphere tracing of a few solids on a plane, with a soft shadow and ambient occlusion by distance samples.
// SPDX-License-Identifier: MIT OR Apache-2.0
float box(vec3 p, vec3 half_size) {
    vec3 q = abs(p) - half_size;
    return length(max(q, 0.0)) + min(max(q.x, max(q.y, q.z)), 0.0);
}

float torus(vec3 p, vec2 radii) {
    return length(vec2(length(p.xz) - radii.x, p.y)) - radii.y;
}

float capsule(vec3 p, vec3 a, vec3 b, float r) {
    vec3 pa = p - a, ba = b - a;
    return length(pa - ba * clamp(dot(pa, ba) / dot(ba, ba), 0.0, 1.0)) - r;
}

float scene(vec3 p) {
    float d = p.y;
    d = min(d, length(p - vec3(0.0, 0.5, 0.0)) - 0.5);
    d = min(d, box(p - vec3(1.4, 0.35, 0.3), vec3(0.35)) - 0.03);
    d = min(d, torus(p - vec3(-1.3, 0.2, 0.2), vec2(0.45, 0.16)));
    return min(d, capsule(p, vec3(0.4, 0.1, 1.2), vec3(-0.6, 0.5, 1.4), 0.12));
}

vec3 normal(vec3 p) {
    vec2 e = vec2(1e-3, 0.0);
    return normalize(vec3(scene(p + e.xyy) - scene(p - e.xyy), scene(p + e.yxy) - scene(p - e.yxy), scene(p + e.yyx) - scene(p - e.yyx)));
}

float shadow(vec3 from, vec3 light) {
    float lit = 1.0, t = 0.03;
    for (int i = 0; i < 32; i++) {
        float h = scene(from + light * t);
        lit = min(lit, 10.0 * h / t);
        t += clamp(h, 0.02, 0.2);
        if (lit < 0.005 || t > 4.0) break;
    }
    return clamp(lit, 0.0, 1.0);
}

float occlusion(vec3 p, vec3 n) {
    float sum = 0.0, weight = 1.0;
    for (int i = 1; i <= 5; i++) {
        float h = 0.06 * float(i);
        sum += weight * (h - scene(p + n * h));
        weight *= 0.7;
    }
    return clamp(1.0 - 2.0 * sum, 0.0, 1.0);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float turn = 0.3 * iTime;
    vec3 eye = vec3(3.5 * sin(turn), 1.6, 3.5 * cos(turn));
    vec3 w = normalize(vec3(0.0, 0.3, 0.0) - eye), u = normalize(cross(w, vec3(0.0, 1.0, 0.0))), v = cross(u, w);
    vec3 ray = normalize(uv.x * u + uv.y * v + 1.8 * w);
    vec3 colour = vec3(0.6, 0.7, 0.9) - 0.4 * ray.y;
    float t = 0.0;
    for (int i = 0; i < 96; i++) {
        float d = scene(eye + ray * t);
        if (d < 1e-3 * t || t > 20.0) break;
        t += d;
    }
    if (t < 20.0) {
        vec3 p = eye + ray * t, n = normal(p), light = normalize(vec3(0.6, 0.8, -0.3));
        float key = max(dot(n, light), 0.0) * shadow(p, light);
        colour = vec3(0.8, 0.7, 0.6) * (key + 0.3 * occlusion(p, n));
        colour = mix(colour, vec3(0.6, 0.7, 0.9), 1.0 - exp(-0.003 * t * t * t));
    }
    fragColor = vec4(sqrt(colour), 1.0);
}
