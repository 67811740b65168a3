// Conway's rules, several generations ahead for one cell: the neighbourhood of a thresholded texture is read once and evolved locally.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int R = 3, W = 2 * R + 1;
    int now[W * W], then[W * W];
    ivec2 base = ivec2(fragCoord) / 4;
    for (int i = 0; i < W * W; i++) {
        ivec2 p = base + ivec2(i % W, i / W) - R;
        uint h = uint(p.x * 374761393 + p.y * 668265263 + int(iTime * 4.0) * 69069);
        h = (h ^ (h >> 13)) * 1274126177u;
        float v = textureLod(iChannel0, (vec2(p) + 0.5) / 64.0, 0.0).r;
        now[i] = int(float(h >> 16 & 255u) / 255.0 < v * v * 1.4);
    }
    for (int g = 0; g < R; g++) {
        int edge = g + 1;
        for (int y = edge; y < W - edge; y++) {
            for (int x = edge; x < W - edge; x++) {
                int sum = 0;
                for (int k = 0; k < 9; k++) sum += k == 4 ? 0 : now[(y + k / 3 - 1) * W + x + k % 3 - 1];
                then[y * W + x] = int(sum == 3 || (sum == 2 && now[y * W + x] == 1));
            }
        }
        for (int y = edge; y < W - edge; y++)
            for (int x = edge; x < W - edge; x++) now[y * W + x] = then[y * W + x];
    }
    int alive = now[R * W + R], around = 0;
    for (int i = 0; i < W * W; i++) around += now[i];
    fragColor = vec4(vec3(0.1, 0.15, 0.1) + float(alive) * vec3(0.6, 0.8, 0.3) + 0.012 * float(around), 1.0);
}
