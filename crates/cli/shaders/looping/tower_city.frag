// Streets of towers by repetition of space; the step is limited by the distance to the cell's wall so that no neighbour is missed.
// SPDX-License-Identifier: MIT OR Apache-2.0
float hash(vec2 p) {
    return fract(sin(dot(p, vec2(127.1, 311.7))) * 43758.5453);
}

float tower(vec3 p, out float id) {
    vec2 cell = floor(p.xz);
    id = hash(cell);
    vec2 local = fract(p.xz) - 0.5;
    float height = 0.4 + 2.0 * id * id;
    vec3 q = abs(vec3(local.x, p.y, local.y)) - vec3(0.2 + 0.12 * hash(cell + 7.0), height, 0.2 + 0.12 * hash(cell + 3.0));
    return length(max(q, 0.0)) + min(max(q.x, max(q.y, q.z)), 0.0);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 eye = vec3(0.5 * iTime, 3.0, 0.0);
    vec3 d = normalize(vec3(1.2, uv.y - 0.6, uv.x));
    float t = 0.0, id = 0.0, glow = 0.0;
    bool hit = false;
    for (int i = 0; i < 120; i++) {
        vec3 p = eye + d * t;
        float h = tower(p, id);
        if (h < 0.002 || p.y < 0.0) {
            hit = true;
            break;
        }
        vec2 wall = (step(0.0, d.xz) - fract(p.xz)) / (d.xz + 1e-5 * sign(d.xz) + 1e-7);
        t += min(h, max(min(wall.x, wall.y), 0.0) + 0.01);
        glow += 0.002 / (0.02 + h);
        if (t > 25.0) break;
    }
    vec3 haze = vec3(0.25, 0.2, 0.35);
    vec3 colour = haze;
    if (hit) {
        vec3 p = eye + d * t;
        vec2 window = step(0.3, fract(vec2(p.x + p.z, p.y) * 8.0));
        float on = step(0.6, hash(floor(vec2(p.x + p.z, p.y) * 8.0)));
        colour = p.y < 0.01 ? vec3(0.05) : mix(vec3(0.1, 0.1, 0.15) * (1.0 + id), vec3(1.0, 0.8, 0.4) * on, window.x * window.y);
        colour = mix(colour, haze, 1.0 - exp(-0.1 * t));
    }
    fragColor = vec4(colour + glow * vec3(0.3, 0.1, 0.2), 1.0);
}
