// Offset printing: four screens at their angles, and for each the dots of the 3 × 3 cells around the pixel.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const float ANGLES[4] = float[4](0.2618, 1.309, 0.0, 0.7854);
    const vec3 INKS[4] = vec3[4](vec3(0.0, 0.68, 0.94), vec3(0.93, 0.0, 0.55), vec3(1.0, 0.95, 0.0), vec3(0.14));
    vec3 paper = vec3(0.97, 0.96, 0.93);
    for (int ink = 0; ink < 4; ink++) {
        float c = cos(ANGLES[ink]), s = sin(ANGLES[ink]);
        mat2 turn = mat2(c, -s, s, c);
        vec2 p = turn * fragCoord / 6.0, cell = floor(p);
        float cover = 0.0;
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                vec2 centre = cell + vec2(i, j) + 0.5;
                vec3 rgb = textureLod(iChannel0, transpose(turn) * centre * 6.0 / iResolution.xy + 0.01 * iTime, 0.0).rgb;
                float k = 1.0 - max(rgb.r, max(rgb.g, rgb.b));
                float amount = ink == 3 ? k : (1.0 - rgb[ink] - k) / max(1.0 - k, 0.01);
                float r = 0.75 * sqrt(clamp(1.6 * amount, 0.0, 1.0));
                cover = max(cover, smoothstep(r + 0.1, r - 0.1, length(p - centre)));
            }
        paper *= mix(vec3(1.0), INKS[ink], cover);
    }
    fragColor = vec4(paper, 1.0);
}
