#version 330 core
// Plain GLSL: percentage-closer soft shadows; a search for blockers sets the filter's width, both loops over a Poisson-like spiral.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform sampler2D shadowMap;
uniform vec2 resolution;
uniform float time;
uniform int searchTaps = 12;
uniform int filterTaps = 24;
out vec4 outColor;

vec2 spiral(int i, int n, float turn) {
    float r = sqrt((float(i) + 0.5) / float(n)), a = 2.39996323 * float(i) + turn;
    return r * vec2(cos(a), sin(a));
}

void main() {
    vec2 uv = gl_FragCoord.xy / resolution;
    float turn = 6.2832 * fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
    float receiver = 0.35 + 0.35 * uv.y + 0.05 * sin(time), blockers = 0.0, found = 0.0;
    for (int i = 0; i < searchTaps; i++) {
        float z = textureLod(shadowMap, uv + 0.05 * spiral(i, searchTaps, turn), 0.0).r;
        if (z < receiver) {
            blockers += z;
            found += 1.0;
        }
    }
    float lit = 1.0;
    if (found > 0.0) {
        float average = blockers / found, width = clamp((receiver - average) / average * 0.12, 0.002, 0.06), sum = 0.0;
        for (int i = 0; i < filterTaps; i++) sum += step(receiver, textureLod(shadowMap, uv + width * spiral(i, filterTaps, turn), 0.0).r);
        lit = sum / float(filterTaps);
    }
    outColor = vec4(vec3(0.9, 0.8, 0.65) * (0.15 + 0.85 * lit) * (0.7 + 0.3 * uv.x), 1.0);
}
