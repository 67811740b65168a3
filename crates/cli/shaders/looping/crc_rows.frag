// A bitwise CRC-32 over the words of a pixel's coordinates, with early exit on a zero remainder.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uint message[3] = uint[3](uint(fragCoord.x), uint(fragCoord.y), uint(iTime * 10.0));
    uint crc = 0xFFFFFFFFu;
    for (int word = 0; word < 3; word++) {
        crc ^= message[word];
        int bit = 0;
        do {
            uint low = crc & 1u;
            crc >>= 1;
            if (low == 1u) crc ^= 0xEDB88320u;
        } while (++bit < 32 && crc != 0u);
    }
    vec3 c = vec3(crc & 0x3FFu, (crc >> 10) & 0x3FFu, (crc >> 20) & 0x3FFu) / 1023.0;
    fragColor = vec4(c * (0.4 + 0.6 * c.bgr), 1.0);
}
