// Posterising by k-means: five colours are fitted to 36 samples of the picture in three rounds, then the nearest is taken.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int K = 5;
    vec3 centre[K], sum[K];
    float count[K];
    vec2 region = floor(fragCoord / iResolution.xy * 4.0) / 4.0;
    for (int k = 0; k < K; k++) centre[k] = textureLod(iChannel0, region + vec2(0.05 * float(k), 0.04 * float(k * k)), 0.0).rgb;
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < K; k++) {
            sum[k] = vec3(0.0);
            count[k] = 0.0;
        }
        for (int i = 0; i < 36; i++) {
            vec3 c = textureLod(iChannel0, region + vec2(i % 6, i / 6) / 24.0, 0.0).rgb;
            int nearest = 0;
            float least = 9.0;
            for (int k = 0; k < K; k++) {
                vec3 d = c - centre[k];
                if (dot(d, d) < least) {
                    least = dot(d, d);
                    nearest = k;
                }
            }
            sum[nearest] += c;
            count[nearest] += 1.0;
        }
        for (int k = 0; k < K; k++)
            if (count[k] > 0.0) centre[k] = sum[k] / count[k];
    }
    vec3 c = texture(iChannel0, fragCoord / iResolution.xy).rgb, out_colour = centre[0];
    for (int k = 1; k < K; k++)
        if (distance(c, centre[k]) < distance(c, out_colour)) out_colour = centre[k];
    fragColor = vec4(clamp((out_colour - 0.3) * 2.0, 0.0, 1.0), 1.0);
}
