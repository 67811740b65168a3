#version 330 core
// Plain GLSL: a separable blur's vertical half with a radius and a sigma from uniforms, symmetric taps two by two.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform sampler2D source;
uniform vec2 resolution;
uniform int radius = 12;
uniform float sigma = 5.0;
out vec4 fragment;

void main() {
    vec2 texel = 1.0 / resolution;
    vec2 uv = gl_FragCoord.xy * texel;
    vec4 sum = texture(source, uv);
    float total = 1.0;
    for (int i = 1; i <= radius; i += 2) {
        float a = exp(-0.5 * float(i * i) / (sigma * sigma));
        float b = exp(-0.5 * float((i + 1) * (i + 1)) / (sigma * sigma));
        float at = (float(i) * a + float(i + 1) * b) / (a + b);
        sum += (a + b) * (texture(source, uv + vec2(0.0, at) * texel) + texture(source, uv - vec2(0.0, at) * texel));
        total += 2.0 * (a + b);
    }
    fragment = sum / total;
}
