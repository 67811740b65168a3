// The burning ship, as a mean over 2 × 2 samples of a pixel.
// SPDX-License-Identifier: MIT OR Apache-2.0
float ship(vec2 c) {
    vec2 z = vec2(0.0);
    for (int n = 0; n < 90; n++) {
        z = abs(z);
        z = vec2(z.x * z.x - z.y * z.y + c.x, 2.0 * z.x * z.y + c.y);
        if (z.x * z.x + z.y * z.y > 64.0) return float(n) + 1.0 - log2(0.5 * log2(dot(z, z)) / 3.0);
    }
    return 0.0;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec3 sum = vec3(0.0);
    float size = mix(0.06, 1.2, 0.5 + 0.5 * cos(0.4 * iTime));
    for (int s = 0; s < 4; s++) {
        vec2 p = fragCoord + 0.5 * vec2(s & 1, s >> 1) - 0.25;
        vec2 uv = (2.0 * p - iResolution.xy) / iResolution.y;
        float n = ship(mix(vec2(-1.76, -0.03), vec2(-0.5, -0.5), smoothstep(0.06, 1.2, size)) + size * uv * vec2(1.0, -1.0));
        sum += n > 0.0 ? vec3(1.0, 0.45, 0.15) * pow(n / 60.0, 1.4) + vec3(0.0, 0.05, 0.1) : vec3(0.0);
    }
    fragColor = vec4(sqrt(sum / 4.0), 1.0);
}
