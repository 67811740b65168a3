// A horizontal box blur of three texels.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec4 sum = vec4(0.0);
    for (int i = -1; i <= 1; i++) sum += textureLod(iChannel0, (fragCoord + vec2(i, 0)) / iResolution.xy, 0.0);
    fragColor = sum / 3.0;
}
