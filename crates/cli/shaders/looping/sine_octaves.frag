// A cheap sea of sines: three octaves, each turned and faster.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 6.0 * fragCoord / iResolution.y;
    float sum = 0.0, a = 0.5;
    for (int i = 0; i < 3; i++) {
        sum += a * sin(p.x + iTime) * sin(p.y);
        p = vec2(p.y - p.x, p.x + p.y) * 1.3;
        a *= 0.5;
    }
    fragColor = vec4(vec3(0.2, 0.4, 0.6) + sum, 1.0);
}
