// A skyline in six layers at dusk, windows by hash; the front layers end the loop where they are solid.
// SPDX-License-Identifier: MIT OR Apache-2.0
float rnd(vec2 p) { return fract(sin(dot(p, vec2(41.17, 289.73))) * 23421.631); }

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.y;
    vec3 colour = mix(vec3(1.0, 0.55, 0.3), vec3(0.15, 0.15, 0.4), uv.y);
    for (int layer = 0; layer < 6; layer++) {
        float depth = float(layer) / 5.0, scale = mix(4.0, 22.0, depth), x = uv.x * scale + iTime * mix(1.0, 0.1, depth) + 91.0 * depth;
        float house = floor(x), h = 0.12 + 0.35 * depth * 0.8 + 0.25 * rnd(vec2(house, layer)) * (1.1 - 0.5 * depth);
        float roof = h - 0.04 * abs(fract(x) - 0.5) * step(0.6, rnd(vec2(house, 9 + layer)));
        if (uv.y > roof) continue;
        vec2 w = vec2(fract(x) * 6.0, (roof - uv.y) * scale * 6.0);
        float lit = step(0.55, rnd(floor(w) + 13.0 * house)) * step(0.25, fract(w.x)) * step(0.3, fract(w.y));
        vec3 wall = mix(vec3(0.03, 0.03, 0.06), vec3(0.6, 0.4, 0.4), depth * 0.7);
        colour = wall + lit * vec3(1.0, 0.8, 0.4) * (1.0 - 0.7 * depth);
        break;
    }
    fragColor = vec4(colour, 1.0);
}
