// Multiscale Truchet tiles: cells are divided at random up to four times, and each leaf is drawn with its two arcs.
// SPDX-License-Identifier: MIT OR Apache-2.0
float rnd(vec2 p) {
    return fract(sin(dot(p, vec2(41.3, 289.1))) * 45758.5453);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 3.0 * fragCoord / iResolution.y + 0.2 * iTime;
    float size = 1.0, ink = 0.0;
    bool turned = false;
    for (int level = 0; level < 4; level++) {
        vec2 cell = floor(p / size), q = p / size - cell - 0.5;
        if (level < 3 && rnd(cell + 17.0 * float(level)) > 0.45) {
            size *= 0.5;
            turned = !turned;
            continue;
        }
        if (rnd(cell + 3.3) > 0.5) q.x = -q.x;
        float d = min(abs(length(q - 0.5) - 0.5), abs(length(q + 0.5) - 0.5)) - 1.0 / 6.0;
        vec2 corner = abs(q) - 0.5;
        d = min(d, length(corner) - 1.0 / 3.0 * 0.5);
        ink = smoothstep(0.02, -0.02, turned ? -d : d);
        break;
    }
    fragColor = vec4(mix(vec3(0.95, 0.92, 0.85), vec3(0.1, 0.2, 0.35), ink) * (0.7 + 0.3 * size), 1.0);
}
