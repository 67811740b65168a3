#version 330 core
// Plain GLSL: a Julia set whose constant, power and number of iterations are uniforms; powers by repeated multiplication.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform vec2 resolution;
uniform vec2 constant = vec2(-0.4, 0.6);
uniform int power = 3;
uniform int iterations = 60;
uniform float zoom = 1.3;
out vec4 outColor;

void main() {
    vec2 z = zoom * (2.0 * gl_FragCoord.xy - resolution) / resolution.y;
    int n;
    for (n = 0; n < iterations; n++) {
        vec2 w = z;
        for (int k = 1; k < power; k++) w = vec2(w.x * z.x - w.y * z.y, w.x * z.y + w.y * z.x);
        z = w + constant;
        if (dot(z, z) > 8.0) break;
    }
    float t = float(n) / float(max(iterations, 1));
    outColor = vec4(sqrt(t) * vec3(1.0, 0.7, 0.4) + (n == iterations ? vec3(0.1, 0.0, 0.2) + 0.2 * z.xyx : vec3(0.0)), 1.0);
}
