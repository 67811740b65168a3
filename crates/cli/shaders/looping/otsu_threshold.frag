// Otsu's threshold of the surrounding tile: a histogram in a local array, and the split with the largest variance between classes.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    float bins[32];
    for (int i = 0; i < 32; i++) bins[i] = 0.0;
    vec2 tile = floor(fragCoord / 64.0) * 64.0;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) {
            float v = textureLod(iChannel0, (tile + 8.0 * vec2(x, y)) / iResolution.xy, 0.0).r;
            bins[min(int(32.0 * v), 31)] += 1.0;
        }
    float total = 0.0;
    for (int i = 0; i < 32; i++) total += float(i) * bins[i];
    float below = 0.0, weight = 0.0, best = -1.0, threshold = 0.0;
    for (int i = 0; i < 32; i++) {
        weight += bins[i];
        if (weight == 0.0) continue;
        if (weight == 64.0) break;
        below += float(i) * bins[i];
        float d = below / weight - (total - below) / (64.0 - weight), between = weight * (64.0 - weight) * d * d;
        if (between > best) {
            best = between;
            threshold = (float(i) + 1.0) / 32.0;
        }
    }
    float v = texture(iChannel0, fragCoord / iResolution.xy).r;
    fragColor = vec4(mix(vec3(0.15, 0.1, 0.2), vec3(0.95, 0.9, 0.8), step(threshold, v)) * (0.6 + 0.4 * threshold), 1.0);
}
