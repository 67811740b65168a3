// The compression of SHA-256 on a block made of the tile's coordinates: 64 rounds over a message schedule in a ring of 16 words.
// SPDX-License-Identifier: MIT OR Apache-2.0
uint rotr(uint x, int n) { return (x >> n) | (x << (32 - n)); }

uint root_fraction(int i) {
    // A stand-in for the cube roots' bits: the constants of a Weyl sequence are as good for a picture.
    return 0x428a2f98u + uint(i) * 0x9E3779B9u;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uvec2 tile = uvec2(fragCoord) / 16u;
    uint w[16], h[8];
    for (int i = 0; i < 16; i++) w[i] = tile.x * 0x01000193u ^ (tile.y << 16) ^ uint(i * iFrame);
    h[0] = 0x6a09e667u; h[1] = 0xbb67ae85u; h[2] = 0x3c6ef372u; h[3] = 0xa54ff53au;
    h[4] = 0x510e527fu; h[5] = 0x9b05688cu; h[6] = 0x1f83d9abu; h[7] = 0x5be0cd19u;
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            uint a = w[(i + 1) & 15], b = w[(i + 14) & 15];
            w[i & 15] += (rotr(a, 7) ^ rotr(a, 18) ^ (a >> 3)) + w[(i + 9) & 15] + (rotr(b, 17) ^ rotr(b, 19) ^ (b >> 10));
        }
        uint s1 = rotr(h[4], 6) ^ rotr(h[4], 11) ^ rotr(h[4], 25), ch = (h[4] & h[5]) ^ (~h[4] & h[6]);
        uint t1 = h[7] + s1 + ch + root_fraction(i) + w[i & 15];
        uint s0 = rotr(h[0], 2) ^ rotr(h[0], 13) ^ rotr(h[0], 22), maj = (h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]);
        for (int k = 7; k > 0; k--) h[k] = h[k - 1];
        h[4] += t1;
        h[0] = t1 + s0 + maj;
    }
    uvec2 at = uvec2(fragCoord) & 15u;
    uint bit = (h[(at.y >> 1) & 7u] >> (at.x + 16u * (at.y & 1u))) & 1u;
    fragColor = vec4(float(bit) * vec3(0.9, 0.8, 0.5) + vec3(0.05, 0.05, 0.1), 1.0);
}
