// A plane folded by mirrors that turn with time, iterated; the last position looks up a picture.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 z = 2.2 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float angle = 0.4 + 0.1 * iTime, scale = 1.0, nearest = 1e3;
    for (int i = 0; i < 14; i++) {
        z = abs(z);
        if (z.y > z.x) z = z.yx;
        float c = cos(angle), s = sin(angle);
        z = mat2(c, -s, s, c) * (z - vec2(0.55, 0.25));
        z *= 1.27;
        scale *= 1.27;
        angle += 0.11;
        nearest = min(nearest, abs(z.x * z.y));
    }
    vec3 picture = texture(iChannel0, 0.05 * z).rgb;
    float line = exp(-3.0 * length(z) / scale * 4.0);
    vec3 tint = 0.5 + 0.5 * cos(6.2832 * (0.3 * nearest + vec3(0.0, 0.33, 0.67)));
    fragColor = vec4(picture * tint + line * vec3(1.0, 0.9, 0.7), 1.0);
}
