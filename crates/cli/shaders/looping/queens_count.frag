// Solutions of the n queens with the first two queens given by the tile, by backtracking over bit masks.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    int n = 7;
    ivec2 tile = ivec2(fragCoord / iResolution.xy * float(n));
    uint all = (1u << n) - 1u;
    uint columns[8], left[8], right[8], free[8];
    uint a = 1u << tile.x, b = 1u << tile.y;
    columns[2] = a | b;
    left[2] = ((a << 1) | b) << 1;
    right[2] = ((a >> 1) | b) >> 1;
    bool fits = (a & b) == 0u && ((a << 1) & b) == 0u && ((a >> 1) & b) == 0u;
    int row = 2, found = 0, tried = 0;
    free[2] = fits ? all & ~(columns[2] | left[2] | right[2]) : 0u;
    while (row >= 2 && tried < 400) {
        tried++;
        if (free[row] == 0u) {
            row--;
            continue;
        }
        uint bit = free[row] & (~free[row] + 1u);
        free[row] ^= bit;
        if (row == n - 1) {
            found++;
            continue;
        }
        columns[row + 1] = columns[row] | bit;
        left[row + 1] = (left[row] | bit) << 1;
        right[row + 1] = (right[row] | bit) >> 1;
        row++;
        free[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    vec2 q = fract(fragCoord / iResolution.xy * float(n)) - 0.5;
    vec3 colour = vec3(float(found) / 4.0, float(tried) / 60.0, fits ? 0.3 : 0.0);
    fragColor = vec4(colour * smoothstep(0.5, 0.46, max(abs(q.x), abs(q.y))), 1.0);
}
