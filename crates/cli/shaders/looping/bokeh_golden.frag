// Depth of field: samples on a golden-angle spiral, each weighted by whether its own circle of confusion reaches this pixel.
// SPDX-License-Identifier: MIT OR Apache-2.0
float blur_size(float depth) {
    float focus = 0.5 + 0.3 * sin(iTime);
    return clamp(abs(depth - focus) * 24.0, 0.5, 12.0);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy, pixel = 1.0 / iResolution.xy;
    float depth = texture(iChannel1, uv).r, size = blur_size(depth);
    vec3 sum = texture(iChannel0, uv).rgb;
    float total = 1.0, radius = 0.5, angle = 0.0;
    while (radius < 12.0) {
        vec2 at = uv + vec2(cos(angle), sin(angle)) * pixel * radius;
        vec3 tap = texture(iChannel0, at).rgb;
        float there = texture(iChannel1, at).r, there_size = blur_size(there);
        if (there > depth) there_size = clamp(there_size, 0.0, 2.0 * size);
        float m = smoothstep(radius - 0.5, radius + 0.5, there_size);
        sum += mix(sum / total, tap, m);
        total += 1.0;
        angle += 2.39996323;
        radius += 1.0 / radius;
    }
    fragColor = vec4(sum / total, 1.0);
}
