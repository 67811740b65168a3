// Ordered dithering: the threshold of a 16 × 16 Bayer matrix is built bit by bit from the pixel's coordinates.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uvec2 p = uvec2(fragCoord);
    uint rank = 0u;
    for (int bit = 0; bit < 4; bit++) {
        uint x = (p.x >> bit) & 1u, y = (p.y >> bit) & 1u;
        rank = (rank << 2) | ((x ^ y) << 1) | y;
    }
    float threshold = (float(rank) + 0.5) / 256.0;
    vec2 uv = fragCoord / iResolution.xy;
    vec3 c = texture(iChannel0, uv + 0.01 * iTime).rgb * vec3(1.0, uv.y, 1.0 - uv.x);
    fragColor = vec4(floor(c * 3.0 + threshold) / 3.0, 1.0);
}
