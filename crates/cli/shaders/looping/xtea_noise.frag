// White noise from a block cipher: XTEA on the pixel's coordinates, more rounds from left to right.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const uint KEY[4] = uint[4](0xA341316Cu, 0xC8013EA4u, 0xAD90777Du, 0x7E95761Eu);
    uint v0 = uint(fragCoord.x), v1 = uint(fragCoord.y) + uint(iFrame) * 65536u, sum = 0u;
    int rounds = 1 + int(31.0 * fragCoord.x / iResolution.x);
    for (int i = 0; i < rounds; i++) {
        v0 += (((v1 << 4) ^ (v1 >> 5)) + v1) ^ (sum + KEY[sum & 3u]);
        sum += 0x9E3779B9u;
        v1 += (((v0 << 4) ^ (v0 >> 5)) + v0) ^ (sum + KEY[(sum >> 11) & 3u]);
    }
    fragColor = vec4(vec3(v0 & 255u, (v0 >> 8) & 255u, v1 & 255u) / 255.0, 1.0);
}
