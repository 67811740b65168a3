// Stars in layers of depth, each layer a grid of cells with one star; nearer layers move faster and fade in.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 sum = vec3(0.0);
    for (float layer = 0.0; layer < 1.0; layer += 0.125) {
        float depth = fract(layer + 0.08 * iTime), scale = mix(18.0, 0.6, depth), fade = depth * smoothstep(1.0, 0.9, depth);
        vec2 p = uv * scale + 43.0 * layer, cell = floor(p), q = fract(p) - 0.5;
        for (int y = -1; y <= 1; y++)
            for (int x = -1; x <= 1; x++) {
                vec2 c = cell + vec2(x, y);
                float h = fract(sin(dot(c, vec2(123.34, 456.21))) * 4375.5), k = fract(h * 345.32);
                vec2 d = q - vec2(x, y) - 0.7 * (vec2(h, fract(h * 34.0)) - 0.5);
                float r = length(d), star = 0.02 * k / r + 0.3 * k * max(0.0, 1.0 - abs(d.x * d.y * 900.0)) * smoothstep(0.4, 0.0, r);
                sum += star * smoothstep(1.0, 0.2, r) * fade * (0.6 + 0.4 * cos(6.28 * h + vec3(0.0, 2.0, 4.0)));
            }
    }
    fragColor = vec4(sum, 1.0);
}
