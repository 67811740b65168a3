// Non-local means: patches around each candidate are compared with the pixel's own.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 pixel = 1.0 / iResolution.xy;
    vec3 sum = vec3(0.0);
    float total = 0.0;
    vec3 own[9];
    for (int k = 0; k < 9; k++) own[k] = texture(iChannel0, (fragCoord + vec2(k % 3 - 1, k / 3 - 1)) * pixel).rgb;
    for (int j = -2; j <= 2; j++) {
        for (int i = -2; i <= 2; i++) {
            float distance2 = 0.0;
            for (int v = -1; v <= 1; v++) {
                for (int u = -1; u <= 1; u++) {
                    vec3 d = own[3 * v + u + 4] - texture(iChannel0, (fragCoord + vec2(i + u, j + v)) * pixel).rgb;
                    distance2 += dot(d, d);
                }
                if (distance2 > 1.5) break;
            }
            float w = exp(-distance2 * 8.0);
            sum += w * texture(iChannel0, (fragCoord + vec2(i, j)) * pixel).rgb;
            total += w;
        }
    }
    fragColor = vec4(sum / total, 1.0);
}
