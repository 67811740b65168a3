// Cone step mapping over an analytic field of pillars: each step is as long as a cone free of material allows.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 column(vec2 uv) {
    vec2 cell = floor(uv), q = fract(uv) - 0.5;
    float r = 0.25 + 0.15 * sin(7.0 * cell.x + 3.0 * cell.y), d = max(abs(q.x), abs(q.y)) - r;
    float h = d < 0.0 ? 0.4 + 0.5 * fract(sin(dot(cell, vec2(12.9, 78.2))) * 437.5) : 0.0;
    float free = d < 0.0 ? 0.15 : max(min(0.5 - r, d), 0.02);
    return vec2(h, free);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.5 * iTime, 0.0, 1.0), d = normalize(vec3(p.x, p.y + 1.0, -1.1));
    vec3 at = o + vec3(3.0 * p, 0.0);
    float flat_speed = length(d.xy), last = 0.0;
    int i = 0;
    for (; i < 64; i++) {
        vec2 c = column(at.xy);
        float gap = at.z - c.x;
        if (gap < 0.004 || at.z < 0.0) break;
        float ratio = c.y;
        last = gap * ratio / (flat_speed + ratio * -d.z);
        at += d * max(last, 0.006);
    }
    vec2 c = column(at.xy);
    vec3 colour = 0.5 + 0.5 * cos(vec3(0.0, 1.0, 2.0) + 5.0 * c.x + floor(at.x));
    colour *= 0.3 + 0.7 * at.z + 0.2 * step(0.01, c.x - at.z);
    fragColor = vec4(colour * (1.0 - 0.008 * float(i)), 1.0);
}
