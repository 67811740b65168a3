// Rain on a pool: rings of drops in the cells near the pixel at two ages bend the picture below.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 hash2(vec2 p) {
    vec3 q = fract(vec3(p.xyx) * vec3(0.1031, 0.103, 0.0973));
    q += dot(q, q.yzx + 33.33);
    return fract((q.xx + q.yz) * q.zy);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = 10.0 * fragCoord / iResolution.y, cell = floor(uv), slope = vec2(0.0);
    const int REACH = 2;
    for (int j = -REACH; j <= REACH; ++j)
        for (int i = -REACH; i <= REACH; ++i) {
            vec2 c = cell + vec2(i, j), h = hash2(c);
            vec2 d = c + h - uv;
            float age = fract(0.3 * iTime + h.x), r = length(d), t = r - 3.0 * age;
            if (abs(t) > 0.6) continue;
            float ring = sin(31.0 * t) * smoothstep(-0.6, -0.3, t) * smoothstep(0.0, -0.3, t);
            slope += 0.5 * d / max(r, 1e-3) * ring * (1.0 - age) * (1.0 - age);
        }
    vec3 n = vec3(slope, sqrt(max(1.0 - dot(slope, slope), 0.0)));
    vec3 floor_colour = texture(iChannel0, fragCoord / iResolution.xy + 0.05 * n.xy).rgb;
    fragColor = vec4(floor_colour * vec3(0.6, 0.8, 0.9) + 5.0 * pow(clamp(dot(n, normalize(vec3(1.0, 0.7, 0.5))), 0.0, 1.0), 6.0) * 0.1, 1.0);
}
