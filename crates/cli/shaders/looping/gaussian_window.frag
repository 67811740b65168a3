// A Gaussian blur over a square window whose radius grows from left to right.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    int radius = 1 + int(7.0 * fragCoord.x / iResolution.x);
    float sigma = 0.5 * float(radius) + 0.3;
    vec4 sum = vec4(0.0);
    float total = 0.0;
    for (int y = -radius; y <= radius; y++) {
        for (int x = -radius; x <= radius; x++) {
            float w = exp(-float(x * x + y * y) / (2.0 * sigma * sigma));
            sum += w * texture(iChannel0, (fragCoord + vec2(x, y)) / iResolution.xy);
            total += w;
        }
    }
    fragColor = sum / total;
}
