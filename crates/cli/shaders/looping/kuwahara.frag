// Kuwahara's filter: of four quadrants the mean of the one with the least variance.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int R = 4;
    vec2 pixel = 1.0 / iResolution.xy;
    vec3 mean[4], square[4];
    for (int k = 0; k < 4; k++) {
        mean[k] = vec3(0.0);
        square[k] = vec3(0.0);
        ivec2 corner = ivec2(k & 1, k >> 1) * R - R;
        for (int y = 0; y <= R; y++) {
            for (int x = 0; x <= R; x++) {
                vec3 c = texture(iChannel0, (fragCoord + vec2(corner + ivec2(x, y))) * pixel).rgb;
                mean[k] += c;
                square[k] += c * c;
            }
        }
    }
    float least = 1e3, n = float((R + 1) * (R + 1));
    for (int k = 0; k < 4; k++) {
        mean[k] /= n;
        vec3 variance = abs(square[k] / n - mean[k] * mean[k]);
        float s = variance.r + variance.g + variance.b;
        if (s < least) {
            least = s;
            fragColor = vec4(mean[k], 1.0);
        }
    }
}
