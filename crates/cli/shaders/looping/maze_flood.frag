// A flood fill on bit boards: sixteen rows of a random maze, filled from a corner until nothing changes.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int N = 16;
    ivec2 board = ivec2(fragCoord) / 128, cell = (ivec2(fragCoord) % 128) / 8;
    uint open[N], wet[N];
    uint seed = uint(board.x * 31 + board.y * 57 + int(iTime)) * 747796405u + 1u;
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint a = seed >> 16;
        seed = seed * 1664525u + 1013904223u;
        open[i] = (a | (seed >> 16)) & 0xFFFFu;
        wet[i] = 0u;
    }
    wet[0] = 1u;
    open[0] |= 1u;
    int rounds = 0;
    bool changed = true;
    while (changed && rounds < 20) {
        changed = false;
        for (int i = 0; i < N; i++) {
            uint w = wet[i];
            if (i > 0) w |= wet[i - 1];
            if (i < N - 1) w |= wet[i + 1];
            w |= (w << 1) | (w >> 1);
            w = (w & open[i]) | wet[i];
            if (w != wet[i]) {
                wet[i] = w;
                changed = true;
            }
        }
        rounds++;
    }
    bool is_open = ((open[cell.y] >> cell.x) & 1u) == 1u, is_wet = ((wet[cell.y] >> cell.x) & 1u) == 1u;
    vec3 colour = is_wet ? vec3(0.2, 0.5, 0.9) : is_open ? vec3(0.9, 0.88, 0.8) : vec3(0.2, 0.15, 0.1);
    fragColor = vec4(colour * (0.7 + 0.3 * float(rounds) / 20.0), 1.0);
}
