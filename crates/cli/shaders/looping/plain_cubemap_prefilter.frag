#version 330 core
// Plain GLSL: irradiance from a cube map by a double loop over the hemisphere in spherical steps.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform samplerCube sky;
uniform vec2 resolution;
uniform float delta = 0.35;
out vec4 outColor;

void main() {
    vec2 uv = gl_FragCoord.xy / resolution;
    float theta = 3.14159265 * uv.y, phi = 6.2831853 * uv.x;
    vec3 n = vec3(sin(theta) * cos(phi), cos(theta), sin(theta) * sin(phi));
    vec3 up = abs(n.y) < 0.99 ? vec3(0.0, 1.0, 0.0) : vec3(1.0, 0.0, 0.0), right = normalize(cross(up, n));
    up = cross(n, right);
    vec3 sum = vec3(0.0);
    float count = 0.0;
    for (float a = 0.0; a < 6.2831853; a += delta) {
        for (float b = 0.0; b < 1.5707963; b += delta) {
            vec3 d = sin(b) * (cos(a) * right + sin(a) * up) + cos(b) * n;
            sum += textureLod(sky, d, 1.0).rgb * cos(b) * sin(b);
            count += 1.0;
        }
    }
    outColor = vec4(3.14159265 * sum / count, 1.0);
}
