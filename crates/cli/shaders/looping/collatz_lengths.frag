// Lengths of Collatz sequences of the pixels' numbers, with the highest value reached as a hue.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uvec2 cell = uvec2(fragCoord) / 2u;
    uint n = cell.x + cell.y * 256u + 1u + uint(max(iTime, 0.0) * 50.0), start = n, highest = n;
    int steps = 0;
    while (n != 1u && steps < 300) {
        if ((n & 1u) == 0u) {
            n >>= 1;
        } else {
            if (n > 1400000000u) break;
            n = 3u * n + 1u;
        }
        highest = max(highest, n);
        steps++;
    }
    float length_of = float(steps) / 200.0, height = log2(float(highest)) - log2(float(start));
    fragColor = vec4(length_of * (0.5 + 0.5 * cos(0.8 * height + vec3(0.0, 2.1, 4.2))), 1.0);
}
