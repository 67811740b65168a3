// Error diffusion along the pixel's row from a start some pixels to the left, with a threshold that jumps by row.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    int x = int(fragCoord.x), y = int(fragCoord.y), start = max(0, x - 48);
    float error = fract(float(y) * 0.618034) - 0.5, out_value = 0.0;
    for (int i = start; i <= x; i++) {
        vec2 uv = (vec2(i, y) + 0.5) / iResolution.xy;
        float v = mix(uv.x, textureLod(iChannel0, uv, 0.0).r, 0.6) + error;
        out_value = floor(v * 2.0 + 0.5) / 2.0;
        error = v - out_value;
    }
    fragColor = vec4(mix(vec3(0.1, 0.05, 0.2), vec3(1.0, 0.95, 0.8), clamp(out_value, 0.0, 1.0)), 1.0);
}
