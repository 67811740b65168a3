// Relief mapping: a linear search of fixed length, then a binary search in the interval found; silhouettes are discarded.
// SPDX-License-Identifier: MIT OR Apache-2.0
float depth(vec2 uv) {
    return 1.0 - textureLod(iChannel0, uv, 0.0).r;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 d = normalize(vec3(p.x, p.y * 0.7 + 0.5, 1.0));
    vec2 uv = vec2(p.x, p.y) / (1.4 - 0.5 * p.y);
    vec3 ray = vec3(0.3 * d.xy / d.z, 1.0);
    const int LINEAR = 20, BINARY = 6;
    float size = 1.0 / float(LINEAR), t = 0.0;
    for (int i = 0; i < LINEAR - 1; i++)
        if (t < depth(uv + ray.xy * t)) t += size;
    for (int i = 0; i < BINARY; i++) {
        size *= 0.5;
        t += t < depth(uv + ray.xy * t) ? size : -size;
    }
    vec2 at = uv + ray.xy * t;
    if (any(greaterThan(abs(at), vec2(1.3, 1.1)))) discard;
    vec2 e = vec2(0.008, 0.0);
    vec3 n = normalize(vec3(depth(at + e) - depth(at - e), depth(at + e.yx) - depth(at - e.yx), 0.08));
    float lit = max(dot(n, normalize(vec3(cos(iTime), sin(iTime), 0.6))), 0.0);
    fragColor = vec4((0.2 + lit) * mix(vec3(0.8, 0.7, 0.5), vec3(0.3, 0.25, 0.3), t), 1.0);
}
