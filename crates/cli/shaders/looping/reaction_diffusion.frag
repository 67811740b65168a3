// Gray–Scott: a patch of 7 × 7 around the pixel starts from two textures and is stepped three times; the middle is drawn.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int W = 7;
    vec2 c[W * W], next[W * W];
    vec2 pixel = 1.5 / iResolution.xy;
    for (int y = 0; y < W; y++)
        for (int x = 0; x < W; x++) {
            vec2 at = fragCoord / iResolution.xy + (vec2(x, y) - 3.0) * pixel;
            float a = textureLod(iChannel0, 1.5 * at, 0.0).r, b = textureLod(iChannel1, 2.0 * at + 0.01 * iTime, 0.0).r;
            c[y * W + x] = vec2(0.4 + 0.6 * a, 0.5 * smoothstep(0.45, 0.6, b));
        }
    float feed = mix(0.02, 0.06, fragCoord.x / iResolution.x), kill = mix(0.05, 0.065, fragCoord.y / iResolution.y);
    for (int s = 1; s <= 3; s++) {
        for (int y = s; y < W - s; y++) {
            for (int x = s; x < W - s; x++) {
                int i = y * W + x;
                vec2 v = c[i], l = -v + 0.2 * (c[i - 1] + c[i + 1] + c[i - W] + c[i + W]) + 0.05 * (c[i - W - 1] + c[i - W + 1] + c[i + W - 1] + c[i + W + 1]);
                float r = v.x * v.y * v.y;
                next[i] = v + vec2(1.0, 0.5) * l + vec2(-r + feed * (1.0 - v.x), r - (kill + feed) * v.y);
            }
        }
        for (int y = s; y < W - s; y++)
            for (int x = s; x < W - s; x++) c[y * W + x] = next[y * W + x];
    }
    vec2 v = c[24];
    fragColor = vec4(mix(vec3(0.05, 0.1, 0.2), vec3(0.95, 0.9, 0.7), v.x) - vec3(0.2, 0.8, 0.9) * v.y, 1.0);
}
