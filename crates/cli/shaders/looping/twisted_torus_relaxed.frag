// A knotted, twisted ring marched with over-relaxed steps, which go back when two spheres of distance do not overlap.
// SPDX-License-Identifier: MIT OR Apache-2.0
mat2 turn(float a) {
    return mat2(cos(a), -sin(a), sin(a), cos(a));
}

float ring(vec3 p) {
    float around = atan(p.z, p.x);
    vec2 q = vec2(length(p.xz) - 1.2, p.y);
    q = turn(2.5 * around + iTime) * q;
    q.x = abs(q.x) - 0.28;
    q = turn(3.0 * around) * q;
    vec2 b = abs(q) - vec2(0.09, 0.16);
    return 0.6 * (length(max(b, 0.0)) + min(max(b.x, b.y), 0.0) - 0.03);
}

float relaxed(vec3 from, vec3 ray) {
    float omega = 1.4, t = 0.5, step_length = 0.0, before = 0.0, best = 1e9, best_t = 0.5;
    for (int i = 0; i < 100; i++) {
        float d = ring(from + ray * t);
        bool fail = omega > 1.0 && abs(d) + before < step_length;
        if (fail) {
            step_length -= omega * step_length;
            omega = 1.0;
        } else {
            step_length = d * omega;
        }
        before = abs(d);
        float error = d / t;
        if (!fail && error < best) {
            best = error;
            best_t = t;
        }
        if (!fail && error < 6e-4 || t > 8.0) break;
        t += step_length;
    }
    return best < 3e-3 ? best_t : -1.0;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / min(iResolution.x, iResolution.y);
    vec3 eye = vec3(0.0, 2.2, 3.2), ray = normalize(vec3(uv.x, uv.y - 1.1, -1.8));
    vec3 colour = vec3(0.08, 0.09, 0.13) * (1.2 - length(uv) * 0.5);
    float t = relaxed(eye, ray);
    if (t > 0.0) {
        vec3 p = eye + t * ray;
        vec2 e = vec2(2e-3, 0.0);
        vec3 n = normalize(vec3(ring(p + e.xyy), ring(p + e.yxy), ring(p + e.yyx)) - ring(p));
        float rim = pow(1.0 + dot(n, ray), 3.0);
        colour = mix(vec3(0.9, 0.4, 0.15), vec3(0.2, 0.5, 0.9), 0.5 + 0.5 * sin(4.0 * atan(p.z, p.x)));
        colour *= 0.15 + max(dot(n, normalize(vec3(0.4, 1.0, 0.5))), 0.0);
        colour += rim * 0.6;
    }
    fragColor = vec4(pow(colour, vec3(0.4545)), 1.0);
}
