// Morton codes: coordinates interleaved by a loop over bits, differences of neighbouring codes as contours.
// SPDX-License-Identifier: MIT OR Apache-2.0
uint interleave(uvec2 p) {
    uint code = 0u;
    for (uint bit = 0u; bit < 12u; bit++) {
        code |= ((p.x >> bit) & 1u) << (2u * bit);
        code |= ((p.y >> bit) & 1u) << (2u * bit + 1u);
    }
    return code;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uvec2 p = uvec2(fragCoord) + uint(10.0 * iTime);
    uint here = interleave(p), right = interleave(p + uvec2(1u, 0u)), up = interleave(p + uvec2(0u, 1u));
    float jump = log2(1.0 + abs(float(right) - float(here))) + log2(1.0 + abs(float(up) - float(here)));
    fragColor = vec4(jump / 30.0, float(here & 0xFFFu) / 4095.0, float((here >> 8) & 0xFFu) / 255.0, 1.0);
}
