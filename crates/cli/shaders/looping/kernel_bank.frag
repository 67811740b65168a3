// A bank of 3 × 3 kernels (Sobel, Scharr, Laplace, emboss) by tiles of the frame, applied with a dynamic index.
// SPDX-License-Identifier: MIT OR Apache-2.0
const float KERNELS[36] = float[36](
    1., 0., -1., 2., 0., -2., 1., 0., -1.,
    3., 10., 3., 0., 0., 0., -3., -10., -3.,
    0., 1., 0., 1., -4., 1., 0., 1., 0.,
    -2., -1., 0., -1., 1., 1., 0., 1., 2.);

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    ivec2 tile = ivec2(fragCoord / iResolution.xy * 4.0);
    int which = (tile.x + tile.y + int(iTime)) & 3;
    vec3 sum = vec3(0.0);
    for (int k = 0; k < 9; k++) {
        ivec2 offset = ivec2(k % 3, k / 3) - 1;
        sum += KERNELS[9 * which + k] * texture(iChannel0, (fragCoord + vec2(offset)) / iResolution.xy).rgb;
    }
    fragColor = vec4(which < 2 ? abs(sum) * 0.4 : sum * 0.5 + 0.5, 1.0);
}
