// Gray codes by shifting: the position of the lowest bit that is set, and the number of set bits, by loops that end with the number.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uint n = uint(fragCoord.x) ^ (uint(fragCoord.y) << 2), gray = n ^ (n >> 1), bits = 0u;
    while (gray != 0u) {
        gray &= gray - 1u;
        bits++;
    }
    fragColor = vec4(float(bits) / 12.0, float(n & 15u) / 15.0, 0.3, 1.0);
}
