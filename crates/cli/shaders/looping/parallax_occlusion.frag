// Parallax occlusion mapping of a tiled wall: layers by the angle of view, linear interpolation at the crossing, a shadow in the texture.
// SPDX-License-Identifier: MIT OR Apache-2.0
float height(vec2 uv) {
    vec2 q = abs(fract(uv * vec2(2.0, 4.0) + vec2(0.5 * floor(mod(4.0 * uv.y, 2.0)), 0.0)) - 0.5);
    float brick = smoothstep(0.48, 0.4, q.x) * smoothstep(0.48, 0.36, q.y);
    return brick * (0.8 + 0.2 * textureLod(iChannel0, uv, 0.0).r);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float a = 0.6 * sin(0.5 * iTime);
    vec3 view = normalize(vec3(p.x * cos(a) - 1.5 * sin(a), p.y, p.x * sin(a) + 1.5 * cos(a)));
    vec2 uv = 0.8 * view.xy / view.z + 0.1 * iTime;
    int layers = int(mix(28.0, 8.0, view.z));
    float layer = 1.0 / float(layers), depth = 0.0;
    vec2 shift = 0.09 * view.xy / view.z * layer, at = uv;
    float now = 1.0 - height(at), before = now;
    while (depth < now && depth < 1.0) {
        before = now;
        at += shift;
        now = 1.0 - height(at);
        depth += layer;
    }
    float over = depth - now, under = before - depth + layer;
    at -= shift * over / (over + under + 1e-5);
    float top = height(at), lit = 1.0;
    vec2 lamp = normalize(vec2(0.7, 0.5));
    for (int i = 1; i <= 8; i++) lit = min(lit, 1.0 - 4.0 * max(height(at + 0.008 * float(i) * lamp) - top - 0.11 * float(i), 0.0));
    vec2 e = vec2(0.004, 0.0);
    vec3 n = normalize(vec3(top - height(at + e), top - height(at + e.yx), 0.06));
    vec3 base = mix(vec3(0.5, 0.48, 0.45), vec3(0.65, 0.3, 0.2), smoothstep(0.2, 0.6, top));
    fragColor = vec4(base * (0.25 + max(lit, 0.0) * max(dot(n, normalize(vec3(lamp, 0.8))), 0.0)), 1.0);
}
