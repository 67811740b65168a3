// Light near a mass: the ray's acceleration −3/2·h²·r/|r|⁵ integrated by leapfrog; a disc is crossed on the way.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec3 stars(vec3 d) {
    vec3 c = floor(60.0 * d);
    float h = fract(sin(dot(c, vec3(12.9, 78.2, 37.7))) * 4758.54);
    return vec3(smoothstep(0.985, 1.0, h)) + 0.1 * vec3(0.2, 0.3, 0.5) * (0.5 + 0.5 * d.y);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 p = vec3(0.0, 1.2, -9.0), v = normalize(vec3(uv, 1.6)), sum = vec3(0.0);
    v.yz = mat2(0.992, 0.13, -0.13, 0.992) * v.yz;
    vec3 h = cross(p, v);
    float h2 = dot(h, h), clear = 1.0;
    bool captured = false;
    for (int i = 0; i < 150; i++) {
        float r2 = dot(p, p), dt = 0.03 + 0.08 * sqrt(r2) * 0.6;
        vec3 a = -1.5 * h2 * p / (r2 * r2 * sqrt(r2));
        v += a * dt;
        vec3 q = p + v * dt;
        if (p.y * q.y < 0.0) {
            vec3 x = mix(p, q, p.y / (p.y - q.y));
            float r = length(x.xz);
            if (r > 2.2 && r < 6.0) {
                float a = atan(x.z, x.x) + 3.0 / sqrt(r) * iTime;
                float dust = texture(iChannel0, vec2(0.16 * a, 0.3 * r)).r * smoothstep(6.0, 4.0, r) * smoothstep(2.2, 2.6, r);
                sum += clear * dust * vec3(1.6, 0.8, 0.3) * (1.3 + 0.7 * x.x / r);
                clear *= 1.0 - 0.7 * dust;
            }
        }
        p = q;
        if (dot(p, p) < 1.0) { captured = true; break; }
        if (dot(p, p) > 120.0 && dot(p, v) > 0.0) break;
    }
    if (!captured) sum += clear * stars(normalize(v));
    fragColor = vec4(sum, 1.0);
}
