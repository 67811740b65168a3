// Opening by reconstruction's little sister: erosion by a disc, dilation of the eroded, on a procedural picture of blots.
// SPDX-License-Identifier: MIT OR Apache-2.0
float picture(vec2 p) {
    return textureLod(iChannel0, p / iResolution.xy, 0.0).r;
}

float eroded(vec2 p) {
    float least = 1.0;
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++)
            if (x * x + y * y <= 5) least = min(least, picture(p + 2.0 * vec2(x, y)));
    return least;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    float most = 0.0, v = picture(fragCoord);
    for (int y = -2; y <= 2; y += 2)
        for (int x = -2; x <= 2; x += 2) {
            if (most >= v) break;
            most = max(most, eroded(fragCoord + 2.0 * vec2(x, y)));
        }
    float top_hat = v - most;
    fragColor = vec4(most, most + 3.0 * top_hat, v, 1.0);
}
