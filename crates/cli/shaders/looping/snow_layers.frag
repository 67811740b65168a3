// Snowfall: twelve layers of flakes, each six-fold with its own turning.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.y;
    float sum = 0.0;
    int layer = 12;
    while (layer > 0) {
        float k = float(layer), scale = 2.0 + k;
        vec2 p = uv * scale + vec2(0.3 * sin(0.7 * iTime + k), iTime * (0.5 + 0.6 / k) * 2.0) + 7.3 * k, cell = floor(p);
        vec2 h = fract(sin(vec2(dot(cell, vec2(37.1, 61.7)), dot(cell, vec2(59.3, 11.9)))) * 4317.7), q = fract(p) - 0.3 - 0.4 * h;
        float r = length(q), a = atan(q.y, q.x) + iTime * (h.x - 0.5), size = 0.12 * (0.4 + h.y);
        float arms = 0.5 + 0.5 * cos(6.0 * a);
        if (r < 0.3) sum += smoothstep(size, 0.3 * size, r * (1.2 - 0.5 * arms)) / (1.0 + 0.08 * k);
        layer--;
    }
    vec3 sky = mix(vec3(0.1, 0.13, 0.22), vec3(0.35, 0.4, 0.5), uv.y);
    fragColor = vec4(sky + 0.8 * sum, 1.0);
}
