// Square roots by Heron's rule from a poor guess; the error that is left after as many steps as the row asks for.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    float x = 0.01 + 9.0 * fragCoord.x / iResolution.x, r = 1.0;
    int steps = int(5.0 * fragCoord.y / iResolution.y);
    for (int i = 0; i < steps; i++) r = 0.5 * (r + x / r);
    float error = abs(r * r - x);
    fragColor = vec4(r / 3.0, clamp(error, 0.0, 1.0), 0.2 * float(steps), 1.0);
}
