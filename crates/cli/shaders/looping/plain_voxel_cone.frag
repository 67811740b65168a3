#version 330 core
// Plain GLSL: cone tracing over mip levels of a texture taken as heights: five cones of growing width gather light.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform sampler2D heights;
uniform vec2 resolution;
uniform float time;
uniform float aperture = 0.55;
out vec4 outColor;

void main() {
    vec2 uv = 0.7 * gl_FragCoord.xy / resolution.y + 0.01 * time;
    float here = textureLod(heights, uv, 0.0).r;
    vec3 sum = vec3(0.0);
    for (int cone = 0; cone < 5; cone++) {
        float angle = 1.2566 * float(cone);
        vec2 d = vec2(cos(angle), sin(angle));
        float distance_to = 0.01, clear = 1.0;
        while (distance_to < 0.4 && clear > 0.05) {
            float width = aperture * distance_to, level = log2(max(width * 256.0, 1.0));
            vec4 there = textureLod(heights, uv + d * distance_to, level);
            float solid = smoothstep(-0.05, 0.15, there.r - here - 0.25 * distance_to);
            sum += clear * solid * there.gbr * 0.4;
            clear *= 1.0 - solid;
            distance_to += 0.7 * width;
        }
        sum += clear * mix(vec3(0.5, 0.6, 0.8), vec3(0.9, 0.7, 0.5), 0.5 + 0.5 * d.y) * 0.25;
    }
    outColor = vec4(sum * (0.4 + 1.0 * here), 1.0);
}
