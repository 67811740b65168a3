// Optical flow between two pictures by Lucas and Kanade: a 5 × 5 window's normal equations, refined once.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy, pixel = 2.0 / iResolution.xy, flow = vec2(0.0), drift = vec2(0.006, 0.003) * sin(iTime + 6.0 * uv.yx);
    for (int pass = 0; pass < 2; pass++) {
        float a = 0.0, b = 0.0, c = 0.0;
        vec2 right = vec2(0.0);
        for (int j = -2; j <= 2; j++)
            for (int i = -2; i <= 2; i++) {
                vec2 at = uv + vec2(i, j) * pixel;
                vec2 g = vec2(textureLod(iChannel0, at + vec2(pixel.x, 0.0), 0.0).r - textureLod(iChannel0, at - vec2(pixel.x, 0.0), 0.0).r,
                              textureLod(iChannel0, at + vec2(0.0, pixel.y), 0.0).r - textureLod(iChannel0, at - vec2(0.0, pixel.y), 0.0).r) / 2.0;
                float dt = textureLod(iChannel0, at + drift - flow * pixel, 0.0).r - textureLod(iChannel0, at, 0.0).r;
                a += g.x * g.x;
                b += g.x * g.y;
                c += g.y * g.y;
                right += g * dt;
            }
        float det = a * c - b * b;
        if (det < 1e-8) break;
        flow += vec2(c * right.x - b * right.y, a * right.y - b * right.x) / det;
        if (dot(flow, flow) > 100.0) break;
    }
    float angle = atan(flow.y, flow.x);
    fragColor = vec4((0.5 + 0.5 * cos(angle + vec3(0.0, 2.1, 4.2))) * min(length(flow) * 0.5, 1.0), 1.0);
}
