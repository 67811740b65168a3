// A tube's picture: three sub-pixel samples, shifted by a beam that bends with the row.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy;
    vec3 c = vec3(0.0);
    for (int k = 0; k < 3; k++) c[k] = textureLod(iChannel0, uv + vec2(0.004 * float(k - 1), 0.0), 0.0)[k];
    fragColor = vec4(c * (0.75 + 0.25 * cos(3.14159 * fragCoord.y)), 1.0);
}
