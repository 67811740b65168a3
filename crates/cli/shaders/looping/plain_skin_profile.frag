#version 330 core
// Plain GLSL: subsurface scattering in texture space: a sum of six Gaussians integrated over a ring and radius grid.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform sampler2D irradiance;
uniform vec2 resolution;
uniform float strength = 0.02;
out vec4 outColor;

const vec4 PROFILE[6] = vec4[6](vec4(0.0064, 0.233, 0.455, 0.649), vec4(0.0484, 0.1, 0.336, 0.344), vec4(0.187, 0.118, 0.198, 0.0),
    vec4(0.567, 0.113, 0.007, 0.007), vec4(1.99, 0.358, 0.004, 0.0), vec4(7.41, 0.078, 0.0, 0.0));

vec3 profile(float r) {
    vec3 sum = vec3(0.0);
    for (int i = 0; i < 6; i++) sum += PROFILE[i].yzw * exp(-r * r / (2.0 * PROFILE[i].x)) / (6.2831853 * PROFILE[i].x);
    return sum;
}

void main() {
    vec2 uv = gl_FragCoord.xy / resolution;
    vec3 sum = vec3(0.0), total = vec3(0.0);
    for (int ring = 0; ring < 4; ring++) {
        float r = 0.15 + 0.6 * float(ring * ring) / 3.0;
        vec3 w = profile(r) * (0.2 + float(ring));
        for (int k = 0; k < 6; k++) {
            float a = 1.0472 * float(k) + 0.5236 * float(ring & 1);
            sum += w * texture(irradiance, uv + strength * r * vec2(cos(a), sin(a))).rgb;
            total += w;
        }
    }
    outColor = vec4(sum / total, 1.0);
}
