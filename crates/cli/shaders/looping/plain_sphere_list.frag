#version 330 core
// Plain GLSL: a list of balls given as a count, traced for primary rays and one shadow ray.
// SPDX-License-Identifier: MIT OR Apache-2.0
uniform vec2 u_resolution;
uniform float u_time;
uniform int u_count = 14;
out vec4 color;

vec4 ball(int i) {
    float k = float(i);
    return vec4(1.6 * sin(k * 2.4 + 0.2 * u_time), -0.6 + 0.13 * k, 1.6 * cos(k * 2.4 + 0.2 * u_time), 0.28);
}

float hit(vec3 o, vec3 d, out vec3 n, out int which) {
    float t = 1e4;
    which = -1;
    for (int i = 0; i < u_count; ++i) {
        vec4 s = ball(i);
        vec3 c = o - s.xyz;
        float b = dot(c, d);
        float h = b * b - dot(c, c) + s.w * s.w;
        if (h <= 0.0) continue;
        float at = -b - sqrt(h);
        if (at > 1e-3 && at < t) {
            t = at;
            which = i;
            n = (c + at * d) / s.w;
        }
    }
    if (d.y < 0.0 && -(o.y + 1.0) / d.y < t) {
        t = -(o.y + 1.0) / d.y;
        n = vec3(0.0, 1.0, 0.0);
        which = 99;
    }
    return t;
}

void main() {
    vec2 uv = (2.0 * gl_FragCoord.xy - u_resolution) / u_resolution.y;
    vec3 o = vec3(0.0, 0.8, 5.0), d = normalize(vec3(uv.x, uv.y - 0.15, -1.8)), n;
    int which, other;
    float t = hit(o, d, n, which);
    vec3 c = vec3(0.7, 0.8, 0.9) - 0.3 * d.y;
    if (which >= 0 && t < 40.0) {
        vec3 p = o + t * d + 1e-3 * n, l = normalize(vec3(0.6, 0.8, 0.3)), m;
        hit(p, l, m, other);
        float lit = other >= 0 && other != 99 ? 0.0 : max(dot(n, l), 0.0);
        vec3 paint = which == 99 ? vec3(0.5 + 0.2 * mod(floor(p.x) + floor(p.z), 2.0)) : 0.5 + 0.4 * cos(float(which) + vec3(0.0, 2.0, 4.0));
        c = mix(paint * (0.2 + 0.8 * lit), c, 1.0 - exp(-0.03 * t));
    }
    color = vec4(c, 1.0);
}
