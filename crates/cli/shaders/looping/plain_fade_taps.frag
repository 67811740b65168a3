#version 330 core
// Plain GLSL: a picture fading out downwards, a few taps along the fall.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform sampler2D picture;
uniform vec2 resolution;
uniform int taps = 4;
out vec4 color;

void main() {
    vec2 uv = gl_FragCoord.xy / resolution;
    vec3 sum = vec3(0.0);
    float weight = 1.0;
    for (int i = 0; i < taps; i++) {
        sum += weight * textureLod(picture, uv + vec2(0.0, 0.01 * float(i)), 0.0).rgb;
        weight *= 0.6;
    }
    color = vec4(0.4 * sum * uv.y, 1.0);
}
