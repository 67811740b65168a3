#version 330 core
// Plain GLSL: a gradient of as many stops as a uniform says, walked until the pixel's position lies between two.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform vec2 resolution;
uniform int stops = 5;
out vec4 color;

void main() {
    float t = gl_FragCoord.x / resolution.x * float(stops), at = 0.0;
    vec3 a = vec3(0.1, 0.2, 0.5), b = a;
    while (at <= t && at < float(stops)) {
        a = b;
        b = 0.5 + 0.5 * cos(1.7 * at + vec3(0.0, 2.0, 4.0));
        at += 1.0;
    }
    color = vec4(mix(a, b, fract(t)) * (0.6 + 0.4 * gl_FragCoord.y / resolution.y), 1.0);
}
