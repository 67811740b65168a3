// Two-dimensional metaballs: the field of twenty charges, its level lines and its gradient as a normal.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float sum = 0.0;
    vec2 slope = vec2(0.0);
    vec3 tint = vec3(0.0);
    for (int i = 0; i < 20; i++) {
        float k = float(i);
        vec2 c = vec2(1.2 * sin(0.7 * k + iTime * (0.5 + 0.03 * k)), 0.8 * cos(1.3 * k + iTime * (0.4 + 0.05 * k)));
        vec2 q = p - c;
        float inv = 1.0 / (dot(q, q) + 1e-3), w = 0.012 * inv;
        sum += w;
        slope -= 2.0 * w * inv * q;
        tint += w * (0.5 + 0.5 * cos(k + vec3(0.0, 2.1, 4.2)));
    }
    vec3 n = normalize(vec3(-slope, 8.0));
    float edge = smoothstep(0.95, 1.05, sum);
    vec3 inside = tint / sum * (0.4 + 0.6 * n.y + pow(max(n.z, 0.0), 4.0));
    float lines = 0.5 + 0.5 * cos(12.0 * log(sum + 1e-3));
    fragColor = vec4(mix(vec3(0.1, 0.12, 0.18) * (0.6 + 0.4 * lines), inside, edge), 1.0);
}
