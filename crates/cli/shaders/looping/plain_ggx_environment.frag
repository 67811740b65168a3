#version 330 core
// Plain GLSL: image-based lighting by importance sampling of GGX with Hammersley points; roughness grows over the balls.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform sampler2D environment;
uniform vec2 resolution;
uniform float time;
uniform int samples = 24;
out vec4 outColor;

float radical(uint bits) {
    bits = (bits << 16u) | (bits >> 16u);
    for (uint s = 8u, m = 0x00FF00FFu; s > 0u; s >>= 1u, m ^= m << s) bits = ((bits >> s) & m) | ((bits << s) & ~m);
    return float(bits) * 2.3283064365386963e-10;
}

void main() {
    vec2 uv = gl_FragCoord.xy / resolution * vec2(4.0, 3.0), cell = floor(uv), p = 2.2 * (fract(uv) - 0.5);
    float r2 = dot(p, p);
    vec3 color = vec3(0.05);
    if (r2 < 1.0) {
        vec3 n = vec3(p, sqrt(1.0 - r2)), v = vec3(0.0, 0.0, 1.0), sum = vec3(0.0);
        float rough = (cell.x + 4.0 * cell.y + 0.5) / 12.0, a = rough * rough, weight = 0.0;
        vec3 t = normalize(cross(abs(n.y) < 0.99 ? vec3(0.0, 1.0, 0.0) : vec3(1.0, 0.0, 0.0), n)), b = cross(n, t);
        for (int i = 0; i < samples; i++) {
            vec2 xi = vec2(float(i) / float(samples), radical(uint(i)));
            float phi = 6.2831853 * xi.x + time, c = sqrt((1.0 - xi.y) / (1.0 + (a * a - 1.0) * xi.y)), s = sqrt(1.0 - c * c);
            vec3 h = t * (s * cos(phi)) + b * (s * sin(phi)) + n * c, l = reflect(-v, h);
            float nl = dot(n, l);
            if (nl <= 0.0) continue;
            vec2 at = vec2(atan(l.z, l.x) / 6.2831853, acos(clamp(l.y, -1.0, 1.0)) / 3.1415927);
            sum += nl * textureLod(environment, at, 4.0 * rough).rgb;
            weight += nl;
        }
        color = sum / max(weight, 1e-3);
    }
    outColor = vec4(color, 1.0);
}
