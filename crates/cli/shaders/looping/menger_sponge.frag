// The Menger sponge: a cross is cut out of a cube at ever smaller scale, inside of a sphere tracer.
// SPDX-License-Identifier: MIT OR Apache-2.0
float sponge(vec3 p) {
    vec3 b = abs(p) - 1.0;
    float d = max(b.x, max(b.y, b.z));
    float scale = 1.0;
    for (int level = 0; level < 4; level++) {
        vec3 a = mod(p * scale, 2.0) - 1.0;
        scale *= 3.0;
        vec3 r = abs(1.0 - 3.0 * abs(a));
        float c = (min(max(r.x, r.y), min(max(r.y, r.z), max(r.z, r.x))) - 1.0) / scale;
        d = max(d, c);
    }
    return d;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float a = 0.25 * iTime + 0.6;
    vec3 eye = 2.6 * vec3(cos(a), 0.55, sin(a));
    vec3 f = -normalize(eye), r = normalize(vec3(-f.z, 0.0, f.x)), u = cross(r, f);
    vec3 ray = normalize(uv.x * r + uv.y * u + 1.7 * f);
    float t = 0.8;
    int steps = 0;
    while (steps < 90 && t < 6.0) {
        float h = sponge(eye + t * ray);
        if (h < 8e-4) break;
        t += h;
        steps++;
    }
    float glow = float(steps) / 90.0;
    vec3 colour = vec3(0.03, 0.05, 0.08) + 0.4 * glow * vec3(0.5, 0.3, 0.1);
    if (t < 6.0) {
        vec3 p = eye + t * ray, e = vec3(1e-3, 0.0, 0.0);
        vec3 n = normalize(vec3(sponge(p + e.xyy), sponge(p + e.yxy), sponge(p + e.yyx)) - sponge(p - 1e-3 * ray));
        colour = (0.25 + 0.75 * abs(dot(n, normalize(vec3(0.7, 0.9, 0.3))))) * vec3(0.85, 0.75, 0.6) * (1.0 - 0.7 * glow);
    }
    fragColor = vec4(colour, 1.0);
}
