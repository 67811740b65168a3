// Levenshtein's distance between two words read from the texture at a tile's column and row, by dynamic programming over one line.
// SPDX-License-Identifier: MIT OR Apache-2.0
int letter(vec2 at, int i) {
    return int(textureLod(iChannel0, at + 0.013 * float(i), 0.0).r * 9.0);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 tile = floor(fragCoord / 8.0) * 8.0 / iResolution.xy;
    const int N = 10;
    int line[N + 1], other[N];
    for (int j = 0; j < N; j++) {
        other[j] = letter(vec2(tile.x, 0.3), j);
        line[j] = j;
    }
    line[N] = N;
    for (int i = 1; i <= N; i++) {
        int diagonal = line[0], mine = letter(vec2(0.7, tile.y + 0.01 * iTime), i);
        line[0] = i;
        for (int j = 1; j <= N; j++) {
            int above = line[j];
            line[j] = min(min(above, line[j - 1]) + 1, diagonal + int(mine != other[j - 1]));
            diagonal = above;
        }
    }
    float d = float(line[N]) / float(N);
    fragColor = vec4(1.0 - d, 0.4 + 0.4 * sin(6.0 * d), d, 1.0);
}
