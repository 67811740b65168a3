// Stereo by census transform: bit strings of 24 comparisons, Hamming distances over a range of shifts, the best shift as depth.
// SPDX-License-Identifier: MIT OR Apache-2.0
uint census(vec2 p) {
    uint bits = 0u;
    float middle = textureLod(iChannel0, p / iResolution.xy, 0.0).g;
    for (int k = 0; k < 25; k++) {
        if (k == 12) continue;
        vec2 q = p + 2.0 * vec2(k % 5 - 2, k / 5 - 2);
        bits = (bits << 1) | uint(textureLod(iChannel0, q / iResolution.xy, 0.0).g > middle);
    }
    return bits;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uint mine = census(fragCoord);
    int best = 99, where = 0;
    float truth = 4.0 + 3.0 * sin(0.02 * fragCoord.y + iTime);
    for (int shift = 0; shift < 10; shift++) {
        int d = bitCount(mine ^ census(fragCoord + vec2(float(shift) - truth, 0.0)));
        if (d < best) {
            best = d;
            where = shift;
            if (d == 0) break;
        }
    }
    fragColor = vec4(mix(vec3(0.1, 0.0, 0.4), vec3(1.0, 0.9, 0.3), float(where) / 9.0) * (1.0 - float(best) / 30.0), 1.0);
}
