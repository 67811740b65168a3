// Single scattering in fog: samples along the ray ask whether a turning grating lets the lamp's light through.
// SPDX-License-Identifier: MIT OR Apache-2.0
float grating(vec3 p, vec3 lamp) {
    vec3 d = p - lamp;
    vec2 on_plane = d.xz / max(-d.y, 1e-3);
    float a = 0.5 * iTime, c = cos(a), s = sin(a);
    on_plane = mat2(c, -s, s, c) * on_plane;
    float bars = smoothstep(0.1, 0.2, abs(fract(3.0 * on_plane.x) - 0.5)) * smoothstep(0.1, 0.2, abs(fract(3.0 * on_plane.y) - 0.5));
    return bars * smoothstep(1.0, 0.8, length(on_plane));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, 0.8, -3.0), d = normalize(vec3(uv, 1.4)), lamp = vec3(0.0, 2.4, 0.5);
    float end = d.y < -1e-3 ? min((o.y + 0.6) / -d.y, 9.0) : 9.0;
    float jitter = fract(sin(dot(fragCoord, vec2(12.9898, 78.233))) * 43758.5453);
    const int STEPS = 48;
    float step_length = end / float(STEPS), sum = 0.0, clear = 1.0;
    for (int i = 0; i < STEPS; i++) {
        vec3 p = o + (float(i) + jitter) * step_length * d;
        vec3 to = lamp - p;
        float r2 = dot(to, to), phase = dot(d, to) * inversesqrt(r2);
        float henyey = 0.51 / pow(1.49 - 1.4 * phase, 1.5);
        sum += clear * grating(p, lamp) * henyey / r2 * step_length * step(p.y, lamp.y);
        clear *= exp(-0.08 * step_length);
    }
    vec3 colour = sum * vec3(0.5, 0.45, 0.35);
    if (end < 9.0) {
        vec3 p = o + end * d;
        colour += clear * grating(p, lamp) * vec3(0.6, 0.55, 0.5) / dot(lamp - p, lamp - p);
    }
    fragColor = vec4(1.0 - exp(-2.0 * colour), 1.0);
}
