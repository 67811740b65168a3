// A median by a histogram: the window's values are counted in 16 bins, which are added up until half is reached.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    int bins[16];
    for (int i = 0; i < 16; i++) bins[i] = 0;
    ivec2 size = textureSize(iChannel0, 0);
    ivec2 base = ivec2(fragCoord / iResolution.xy * vec2(size));
    for (int y = -4; y <= 4; y++)
        for (int x = -4; x <= 4; x++) {
            float v = texelFetch(iChannel0, (base + ivec2(x, y) + size) % size, 0).r;
            bins[clamp(int(v * 16.0), 0, 15)]++;
        }
    int below = 0, bin = 0;
    while (bin < 15 && below + bins[bin] < 41) {
        below += bins[bin];
        bin++;
    }
    float part = float(41 - below) / float(max(bins[bin], 1));
    float v = (float(bin) + clamp(part, 0.0, 1.0)) / 16.0;
    fragColor = vec4(v, v * v, 1.0 - v, 1.0);
}
