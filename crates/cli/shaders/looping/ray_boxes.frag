// Slab tests against a list of boxes, with a shadow ray that stops at the first one.
// SPDX-License-Identifier: MIT OR Apache-2.0
struct Hit { float t; vec3 n; int id; };

void box_of(int i, out vec3 centre, out vec3 half_size) {
    float k = float(i);
    centre = vec3(2.0 * sin(2.4 * k), -0.6 + 0.2 * sin(k + iTime), 2.0 * cos(2.4 * k) * fract(0.618 * k));
    half_size = vec3(0.15 + 0.1 * fract(0.37 * k), 0.2 + 0.6 * fract(0.73 * k), 0.2);
}

Hit trace(vec3 o, vec3 d, bool any_hit) {
    Hit hit = Hit(1e3, vec3(0.0), -1);
    if (d.y < 0.0) hit = Hit(-(o.y + 1.0) / d.y, vec3(0.0, 1.0, 0.0), 0);
    vec3 inv = 1.0 / (d + vec3(1e-6));
    for (int i = 1; i <= 24; i++) {
        vec3 c, h;
        box_of(i, c, h);
        vec3 a = (c - o) * inv, k = abs(inv) * h;
        vec3 t1 = a - k, t2 = a + k;
        float near = max(max(t1.x, t1.y), t1.z), far = min(min(t2.x, t2.y), t2.z);
        if (near > far || far < 0.0 || near < 1e-3 || near > hit.t) continue;
        hit.t = near;
        hit.id = i;
        hit.n = -sign(d) * step(t1.yzx, t1.xyz) * step(t1.zxy, t1.xyz);
        if (any_hit) return hit;
    }
    return hit;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, 1.2, 5.0), d = normalize(vec3(uv.x, uv.y - 0.4, -1.8)), sun = normalize(vec3(0.5, 0.9, 0.4));
    Hit hit = trace(o, d, false);
    vec3 colour = vec3(0.5, 0.6, 0.75) + 0.3 * uv.y;
    if (hit.id >= 0 && hit.t < 30.0) {
        vec3 p = o + hit.t * d + 2e-3 * hit.n;
        bool dark = trace(p, sun, true).id > 0;
        vec3 paint = hit.id == 0 ? vec3(0.6) : 0.55 + 0.4 * cos(float(hit.id) + vec3(0.0, 2.0, 4.0));
        colour = mix(colour, paint * (0.25 + (dark ? 0.0 : max(dot(hit.n, sun), 0.0))), exp(-0.02 * hit.t));
    }
    fragColor = vec4(colour, 1.0);
}
