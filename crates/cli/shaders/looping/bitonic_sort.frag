// A bitonic network sorts sixteen texels of a tile's row; the frame shows them in order, by tile more or fewer of the stages.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int N = 16;
    vec3 v[N];
    vec2 tile = vec2(floor(fragCoord.x / 32.0) * 32.0, fragCoord.y);
    for (int i = 0; i < N; i++) v[i] = textureLod(iChannel0, (tile + vec2(2 * i, 0)) / iResolution.xy, 0.0).rgb;
    int stages = 2 << (int(tile.x / 32.0) & 3);
    for (int k = 2; k <= min(stages, N); k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
            for (int i = 0; i < N; i++) {
                int l = i ^ j;
                if (l <= i) continue;
                bool ascending = (i & k) == 0;
                float a = v[i].r + v[i].g, b = v[l].r + v[l].g;
                if ((a > b) == ascending) {
                    vec3 t = v[i];
                    v[i] = v[l];
                    v[l] = t;
                }
            }
        }
    }
    fragColor = vec4(v[(int(fragCoord.x) & 31) >> 1], 1.0);
}
