// Reflections in screen space: a ray marched through a depth image with growing steps and a binary refinement.
// SPDX-License-Identifier: MIT OR Apache-2.0
float depth(vec2 uv) {
    float floor_z = 1.2 / max(0.62 - uv.y, 0.05);
    float d = min(floor_z, 9.0);
    for (int i = 0; i < 5; i++) {
        vec2 c = vec2(0.15 + 0.18 * float(i), 0.55 + 0.08 * sin(iTime + 2.0 * float(i)));
        vec2 q = (uv - c) * vec2(iResolution.x / iResolution.y, 1.0);
        float r2 = 0.0064 - dot(q, q);
        if (r2 > 0.0) d = min(d, 3.0 + 0.4 * float(i) - 4.0 * sqrt(r2));
    }
    return d;
}

vec3 colour_at(vec2 uv, float z) {
    return z > 8.5 ? mix(vec3(0.9, 0.6, 0.4), vec3(0.2, 0.3, 0.6), uv.y) : 0.5 + 0.5 * cos(z * 2.0 + vec3(0.0, 2.0, 4.0) + 3.0 * uv.x);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy;
    float z = depth(uv), floor_z = 1.2 / max(0.62 - uv.y, 0.05);
    vec3 colour = colour_at(uv, z);
    if (z > floor_z - 1e-4 && z < 8.5) {
        vec3 p = vec3((uv - vec2(0.5, 0.62)) * z, z);
        vec3 r = reflect(normalize(p), normalize(vec3(0.02 * sin(40.0 * p.x), 1.0, 0.02 * sin(40.0 * z))));
        float t = 0.05, before = 0.0, grow = 0.06;
        vec3 found = vec3(0.9, 0.6, 0.4);
        for (int i = 0; i < 36; i++) {
            vec3 q = p + t * r;
            vec2 at = q.xy / q.z + vec2(0.5, 0.62);
            if (q.z < 0.1 || any(lessThan(at, vec2(0.0))) || any(greaterThan(at, vec2(1.0)))) break;
            float gap = q.z - depth(at);
            if (gap > 0.0 && gap < 0.8) {
                for (int k = 0; k < 5; k++) {
                    float mid = 0.5 * (before + t);
                    vec3 m = p + mid * r;
                    if (m.z > depth(m.xy / m.z + vec2(0.5, 0.62))) t = mid; else before = mid;
                }
                q = p + t * r;
                at = q.xy / q.z + vec2(0.5, 0.62);
                found = colour_at(at, depth(at));
                break;
            }
            before = t;
            t += grow;
            grow *= 1.08;
        }
        colour = mix(colour, found, 0.6);
    }
    fragColor = vec4(colour, 1.0);
}
