// The pixel's column written in base three, one ternary digit a row of the frame, by repeated division.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    int n = int(fragCoord.x), row = int(fragCoord.y) / 64;
    for (int i = 0; i < row; i++) n /= 3;
    int digit = n % 3;
    fragColor = vec4(vec3(digit == 0, digit == 1, digit == 2) * 0.8 + 0.1 * fragCoord.y / iResolution.y, 1.0);
}
