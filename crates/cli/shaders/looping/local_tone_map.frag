// Tone mapping with a local adaptation: the log-average of luminance grows over mip levels while the surround agrees.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy;
    vec3 hdr = exp2(8.0 * texture(iChannel0, uv).rgb - 4.0);
    float l = dot(hdr, vec3(0.2126, 0.7152, 0.0722)), adapted = l, key = 0.18 + 0.1 * sin(iTime);
    for (float level = 0.0; level < 7.0; level += 1.0) {
        float inner = exp2(8.0 * dot(textureLod(iChannel0, uv, level).rgb, vec3(0.2126, 0.7152, 0.0722)) - 4.0);
        float outer = exp2(8.0 * dot(textureLod(iChannel0, uv, level + 1.6).rgb, vec3(0.2126, 0.7152, 0.0722)) - 4.0);
        adapted = inner;
        if (abs(inner - outer) / (key * 256.0 / exp2(2.0 * level) + inner) > 0.05) break;
    }
    float average = 0.0;
    for (int i = 0; i < 16; i++) average += log2(dot(exp2(8.0 * textureLod(iChannel0, (vec2(i & 3, i >> 2) + 0.5) / 4.0, 4.0).rgb - 4.0), vec3(0.333)) + 1e-3);
    float scale = key / exp2(average / 16.0);
    vec3 c = hdr * scale / (1.0 + adapted * scale);
    fragColor = vec4(pow(c, vec3(0.4545)), 1.0);
}
