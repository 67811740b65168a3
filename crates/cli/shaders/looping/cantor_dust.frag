// Cantor dust: points leave when a coordinate falls into the middle third of any level.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = fragCoord / iResolution.xy;
    int level = 0;
    for (; level < 5; level++) {
        p *= 3.0;
        if (floor(p.x) == 1.0 || floor(p.y) == 1.0) break;
        p = fract(p);
    }
    fragColor = vec4(vec3(float(level) / 5.0, p * 0.3), 1.0);
}
