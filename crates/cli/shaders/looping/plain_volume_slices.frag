#version 330 core
// Plain GLSL: slices of a three-dimensional texture composited front to back with a transfer function and gradient shading.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform sampler3D volume;
uniform vec2 resolution;
uniform float time;
uniform int slices = 40;
uniform float threshold = 0.5;
out vec4 outColor;

void main() {
    vec2 uv = (2.0 * gl_FragCoord.xy - resolution) / resolution.y;
    float c = cos(0.4 * time), s = sin(0.4 * time);
    mat3 turn = mat3(c, 0.0, -s, 0.0, 1.0, 0.0, s, 0.0, c);
    vec3 o = turn * vec3(0.0, 0.4, 2.4), d = turn * normalize(vec3(uv.x, uv.y - 0.15, -1.8));
    vec3 a = (-0.7 - o) / d, b = (0.7 - o) / d, n = min(a, b), f = max(a, b);
    float near = max(max(n.x, n.y), n.z), far = min(min(f.x, f.y), f.z);
    vec4 sum = vec4(0.0);
    if (near < far) {
        float ds = (far - near) / float(slices);
        for (int i = 0; i < slices; ++i) {
            vec3 p = (o + (near + (float(i) + 0.5) * ds) * d) / 1.4 + 0.5;
            float v = textureLod(volume, p, 0.0).r;
            float alpha = clamp((v - threshold) * 9.0 * ds, 0.0, 1.0);
            if (alpha > 0.0) {
                vec3 e = vec3(0.03, 0.0, 0.0);
                vec3 g = vec3(textureLod(volume, p + e.xyy, 0.0).r, textureLod(volume, p + e.yxy, 0.0).r, textureLod(volume, p + e.yyx, 0.0).r) - v;
                float lit = 0.4 + 0.6 * max(dot(normalize(g + 1e-5), vec3(-0.5, -0.7, -0.5)), 0.0);
                vec3 tint = mix(vec3(0.9, 0.5, 0.3), vec3(0.9, 0.9, 0.8), smoothstep(threshold, threshold + 0.2, v)) * lit;
                sum += (1.0 - sum.a) * alpha * vec4(tint, 1.0);
                if (sum.a > 0.97) break;
            }
        }
    }
    outColor = vec4(sum.rgb + (1.0 - sum.a) * vec3(0.08, 0.09, 0.12) * (1.0 + uv.y), 1.0);
}
