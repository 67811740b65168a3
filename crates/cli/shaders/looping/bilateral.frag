// A bilateral filter: weights by distance in the plane and in colour.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 pixel = 1.0 / iResolution.xy, uv = fragCoord * pixel;
    vec3 middle = texture(iChannel0, uv).rgb, sum = vec3(0.0);
    float total = 0.0;
    for (int j = -5; j <= 5; ++j)
        for (int i = -5; i <= 5; ++i) {
            vec3 tap = texture(iChannel0, uv + vec2(i, j) * pixel).rgb, d = tap - middle;
            float w = exp(-float(i * i + j * j) / 18.0 - dot(d, d) / 0.03);
            sum += w * tap;
            total += w;
        }
    vec3 smooth_colour = sum / total;
    fragColor = vec4(mix(middle, smooth_colour, step(0.5 + 0.3 * sin(iTime), uv.x) * 0.8 + 0.2), 1.0);
}
