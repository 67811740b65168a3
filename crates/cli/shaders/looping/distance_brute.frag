// A distance transform by brute force, from the nearest texels outwards in rings, ending when no nearer one can come.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    bool inside = textureLod(iChannel0, fragCoord / iResolution.xy, 0.0).r > 0.52;
    float best = 1e3;
    for (int ring = 1; ring <= 10; ring++) {
        if (float(ring) > best) break;
        for (int k = -ring; k < ring; k++) {
            for (int side = 0; side < 4; side++) {
                ivec2 d = side == 0 ? ivec2(k, -ring) : side == 1 ? ivec2(ring, k) : side == 2 ? ivec2(-k, ring) : ivec2(-ring, -k);
                bool other = textureLod(iChannel0, (fragCoord + 2.0 * vec2(d)) / iResolution.xy, 0.0).r > 0.52;
                if (other != inside) best = min(best, length(vec2(d)));
            }
        }
    }
    float d = min(best, 11.0) * (inside ? -1.0 : 1.0);
    vec3 colour = d < 0.0 ? vec3(0.9, 0.5, 0.2) : vec3(0.3, 0.5, 0.8);
    fragColor = vec4(colour * (0.6 + 0.4 * cos(1.5 * d - 2.0 * iTime)) * exp(-0.05 * abs(d)), 1.0);
}
