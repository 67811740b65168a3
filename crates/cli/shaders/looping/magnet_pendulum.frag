// A pendulum over three magnets, integrated by velocity Verlet until it rests; the nearest magnet gives the colour.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 pull(vec2 p) {
    vec2 a = -0.3 * p;
    for (int i = 0; i < 3; i++) {
        float w = 2.0944 * float(i);
        vec2 d = vec2(cos(w), sin(w)) - p;
        float r2 = dot(d, d) + 0.06;
        a += d / (r2 * sqrt(r2));
    }
    return a;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 2.2 * (2.0 * fragCoord - iResolution.xy) / iResolution.y, v = vec2(0.0), a = pull(p);
    float dt = 0.07, path = 0.0;
    for (int i = 0; i < 150; i++) {
        v += 0.5 * dt * a;
        p += dt * v;
        a = pull(p) - 0.25 * v;
        v += 0.5 * dt * a;
        path += length(v) * dt;
        if (dot(v, v) < 1e-3 && dot(a, a) < 0.05) break;
    }
    float angle = atan(p.y, p.x);
    fragColor = vec4((0.6 + 0.4 * cos(angle + vec3(0.0, 2.0944, 4.1888))) * exp(-0.05 * path), 1.0);
}
