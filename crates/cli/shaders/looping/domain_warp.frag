// Clouds of marble: fbm warped by fbm warped by fbm.
// SPDX-License-Identifier: MIT OR Apache-2.0
float hash(uvec2 p) {
    p = p * 1664525u + 1013904223u;
    p.x += p.y * 1664525u;
    p.y += p.x * 1664525u;
    p ^= p >> 16u;
    return float(p.x + p.y * 1664525u) / 4294967295.0;
}

float noise(vec2 x) {
    vec2 i = floor(x), f = x - i;
    uvec2 c = uvec2(ivec2(i));
    f = f * f * f * (f * (6.0 * f - 15.0) + 10.0);
    return mix(mix(hash(c), hash(c + uvec2(1, 0)), f.x), mix(hash(c + uvec2(0, 1)), hash(c + uvec2(1, 1)), f.x), f.y);
}

float fbm(vec2 p) {
    float sum = 0.0, weight = 0.5;
    for (int i = 0; i < 5; i++) {
        sum += weight * noise(p);
        p = mat2(0.8, 0.6, -0.6, 0.8) * p * 2.02;
        weight *= 0.5;
    }
    return sum;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 3.0 * fragCoord / iResolution.y + 10.0, q = p, offset = vec2(0.0);
    for (int level = 0; level < 3; level++) {
        offset = vec2(fbm(q + 1.7 * float(level)), fbm(q + vec2(5.2, 1.3) + 0.15 * iTime));
        q = p + 2.2 * offset;
    }
    float v = fbm(q);
    vec3 colour = mix(vec3(0.2, 0.1, 0.15), vec3(0.9, 0.75, 0.5), v);
    fragColor = vec4(mix(colour, vec3(0.2, 0.4, 0.5), dot(offset, offset) * 0.5) * (0.5 + v), 1.0);
}
