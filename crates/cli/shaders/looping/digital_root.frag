// Digital roots of the pixels' numbers: digits are added until one is left.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    int n = int(fragCoord.x) + 512 * int(fragCoord.y);
    while (n > 9) {
        int sum = 0;
        for (; n > 0; n /= 10) sum += n % 10;
        n = sum;
    }
    fragColor = vec4(vec3(n & 1, (n >> 1) & 1, (n >> 2) & 1) * 0.6 + float(n) / 30.0, 1.0);
}
