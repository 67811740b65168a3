// Motion blur along a velocity that differs by pixel: as many taps as the velocity is long.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy, c = uv - 0.5;
    vec2 velocity = vec2(-c.y, c.x) * 0.12 * (1.0 + sin(iTime)) + 0.04 * (texture(iChannel1, 0.5 * uv).rg - 0.5);
    float pixels = length(velocity * iResolution.xy);
    int taps = clamp(int(0.5 * pixels), 1, 24);
    vec3 sum = vec3(0.0);
    for (int i = 0; i < taps; i++) {
        float s = (float(i) + 0.5) / float(taps) - 0.5;
        sum += texture(iChannel0, uv + velocity * s).rgb;
    }
    fragColor = vec4(sum / float(taps), 1.0);
}
