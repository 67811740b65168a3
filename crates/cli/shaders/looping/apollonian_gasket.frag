// An Apollonian packing of spheres by inversion, seen from inside, with a glow gathered along the way.
// SPDX-License-Identifier: MIT OR Apache-2.0
float packing(vec3 p, out float orbit) {
    float scale = 1.0;
    orbit = 1e3;
    for (int i = 0; i < 8; i++) {
        p = 2.0 * fract(0.5 * p + 0.5) - 1.0;
        float r2 = max(dot(p, p), 1e-4);
        orbit = min(orbit, r2);
        float k = 1.2 / r2;
        p *= k;
        scale *= k;
    }
    return 0.25 * abs(p.y) / scale;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float a = 0.1 * iTime;
    vec3 p = vec3(0.9 * cos(a), 0.35 + 0.1 * sin(2.0 * a), 0.9 * sin(a));
    vec3 d = normalize(vec3(uv.x, uv.y, 1.5));
    d.xz = mat2(cos(a), -sin(a), sin(a), cos(a)) * d.xz;
    float t = 0.01, orbit = 0.0, glow = 0.0;
    for (int i = 0; i < 80; i++) {
        float h = packing(p + t * d, orbit);
        glow += exp(-60.0 * h);
        if (h < 4e-4 * t || t > 8.0) break;
        t += h;
    }
    vec3 colour = mix(vec3(1.0, 0.8, 0.5), vec3(0.3, 0.6, 0.9), clamp(6.0 * orbit, 0.0, 1.0));
    colour *= exp(-0.25 * t);
    fragColor = vec4(colour + 0.01 * glow * vec3(0.8, 0.4, 0.2), 1.0);
}
