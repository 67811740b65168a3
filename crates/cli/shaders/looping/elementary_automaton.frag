// An elementary cellular automaton: sixty-four cells in two words evolve as many steps as the pixel is high.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uint rule = int(fragCoord.x) < 256 ? 30u : 110u;
    int cell = (int(fragCoord.x) / 4) & 63, steps = int(fragCoord.y) / 4;
    uvec2 w = uvec2(0x00010000u, 0x80000000u ^ uint(iTime * 3.0));
    for (int s = 0; s < steps; s++) {
        uvec2 left = uvec2((w.x << 1) | (w.y >> 31), (w.y << 1) | (w.x >> 31));
        uvec2 right = uvec2((w.x >> 1) | (w.y << 31), (w.y >> 1) | (w.x << 31));
        uvec2 next = uvec2(0u);
        for (uint k = 0u; k < 8u; k++) {
            if (((rule >> k) & 1u) == 0u) continue;
            uvec2 m = uvec2(0xFFFFFFFFu);
            m &= (k & 4u) != 0u ? left : ~left;
            m &= (k & 2u) != 0u ? w : ~w;
            m &= (k & 1u) != 0u ? right : ~right;
            next |= m;
        }
        w = next;
    }
    uint bit = (cell < 32 ? w.x >> (31 - cell) : w.y >> (63 - cell)) & 1u;
    fragColor = vec4(bit == 1u ? vec3(1.0, 0.8, 0.4) : vec3(0.05, 0.05, 0.1) + 0.1 * fragCoord.y / iResolution.y, 1.0);
}
