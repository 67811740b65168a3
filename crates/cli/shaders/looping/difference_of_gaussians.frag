// An engraver's line drawing: extended difference of Gaussians, both in one loop, then a soft threshold and hatching.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 pixel = 1.0 / iResolution.xy;
    float narrow = 0.0, wide = 0.0, wn = 0.0, ww = 0.0;
    for (float y = -5.0; y <= 5.0; y += 1.0) {
        for (float x = -5.0; x <= 5.0; x += 1.0) {
            float r2 = x * x + y * y;
            if (r2 > 27.0) continue;
            float l = dot(texture(iChannel0, (fragCoord + vec2(x, y)) * pixel).rgb, vec3(0.333));
            float a = exp(-r2 / 2.0), b = exp(-r2 / 5.12);
            narrow += a * l;
            wn += a;
            wide += b * l;
            ww += b;
        }
    }
    float e = 18.0 * (narrow / wn) - 17.0 * (wide / ww);
    float ink = e > 0.45 ? 1.0 : 1.0 + tanh(6.0 * (e - 0.45));
    float hatch = 0.5 + 0.5 * sin(0.8 * (fragCoord.x + fragCoord.y));
    ink *= mix(1.0, hatch, smoothstep(0.5, 0.2, wide / ww));
    fragColor = vec4(vec3(0.98, 0.95, 0.88) * ink, 1.0);
}
