#version 330 core
// Plain GLSL: deferred shading of a bumpy plane by as many point lights as a uniform says, with range culling.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform vec2 resolution;
uniform float time;
uniform int lights = 48;
uniform float range = 0.6;
out vec4 outColor;

void main() {
    vec2 p = (2.0 * gl_FragCoord.xy - resolution) / resolution.y;
    vec3 n = normalize(vec3(0.3 * cos(20.0 * p.x), 0.3 * cos(20.0 * p.y), 1.0)), v = normalize(vec3(-p, 2.0)), sum = vec3(0.01);
    for (int i = 0; i < lights; i++) {
        float k = float(i);
        vec3 at = vec3(1.4 * sin(1.3 * k + 0.5 * time), 0.95 * cos(2.1 * k + 0.4 * time), 0.12), l = at - vec3(p, 0.0);
        float r2 = dot(l, l);
        if (r2 > range * range) continue;
        l *= inversesqrt(r2);
        float fall = max(1.0 - r2 / (range * range), 0.0);
        vec3 h = normalize(l + v), tint = 0.5 + 0.5 * cos(k + vec3(0.0, 2.1, 4.2));
        sum += tint * fall * fall * (0.6 * max(dot(n, l), 0.0) + pow(max(dot(n, h), 0.0), 60.0));
    }
    outColor = vec4(sum, 1.0);
}
