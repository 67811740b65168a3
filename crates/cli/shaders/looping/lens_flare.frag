// Ghosts of a lens: mirrored copies of a bright spot along the axis, a halo and starburst of blades.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y, sun = vec2(0.7 * cos(0.5 * iTime), 0.5 * sin(0.7 * iTime));
    vec3 sum = 0.15 * texture(iChannel0, fragCoord / iResolution.xy).rgb;
    for (int ghost = 0; ghost < 9; ghost++) {
        float k = mix(-1.4, 1.1, float(ghost) / 8.0), size = 0.05 + 0.12 * fract(1.7 * float(ghost));
        vec2 d = uv - sun * k;
        float angle = atan(d.y, d.x), hexagon = cos(floor(0.5 + angle / 1.0472) * 1.0472 - angle) * length(d);
        float disc = smoothstep(size, 0.85 * size, hexagon), rim = exp(-200.0 * (hexagon - size) * (hexagon - size) / size);
        sum += (0.12 * disc + 0.1 * rim) * (0.5 + 0.5 * cos(float(ghost) + vec3(0.0, 2.0, 4.0)));
    }
    vec2 d = uv - sun;
    float r = length(d);
    for (int blade = 0; blade < 6; blade++) {
        float a = 0.5236 * float(blade) + 0.1;
        float off = abs(d.x * sin(a) - d.y * cos(a));
        sum += 0.004 / (off + 0.01) * exp(-3.0 * r) * vec3(1.0, 0.9, 0.7);
    }
    fragColor = vec4(sum + 0.05 / (r + 0.02) * vec3(1.0, 0.8, 0.6) * exp(-r), 1.0);
}
