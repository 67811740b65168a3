// Voxels on a grid, visited in order by Amanatides and Woo's walk until a filled one.
// SPDX-License-Identifier: MIT OR Apache-2.0
bool filled(ivec3 c) {
    vec3 p = vec3(c);
    float h = 3.0 * sin(0.35 * p.x + 0.3 * iTime) * cos(0.3 * p.z) + 1.5 * sin(0.9 * p.z);
    uint n = uint(c.x * 73856093) ^ uint(c.y * 19349663) ^ uint(c.z * 83492791);
    return p.y < h || (p.y < h + 3.0 && n % 23u == 0u);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(2.0 * iTime, 8.5, 0.5), d = normalize(vec3(1.3, uv.y - 0.55, uv.x));
    ivec3 cell = ivec3(floor(o)), dir = ivec3(sign(d));
    vec3 inv = 1.0 / max(abs(d), 1e-4);
    vec3 side = (sign(d) * (vec3(cell) - o + 0.5) + 0.5) * inv;
    ivec3 face = ivec3(0);
    int i = 0;
    for (; i < 96; i++) {
        if (filled(cell)) break;
        if (side.x < side.y && side.x < side.z) {
            side.x += inv.x;
            cell.x += dir.x;
            face = ivec3(1, 0, 0);
        } else if (side.y < side.z) {
            side.y += inv.y;
            cell.y += dir.y;
            face = ivec3(0, 1, 0);
        } else {
            side.z += inv.z;
            cell.z += dir.z;
            face = ivec3(0, 0, 1);
        }
        if (cell.y > 12) { i = 96; break; }
    }
    vec3 sky = vec3(0.55, 0.7, 0.9) - 0.3 * d.y, colour = sky;
    if (i < 96) {
        float shade = dot(vec3(face), vec3(0.7, 1.0, 0.5));
        colour = shade * mix(vec3(0.45, 0.3, 0.2), vec3(0.3, 0.6, 0.2), float(face.y));
        colour = mix(colour, sky, smoothstep(40.0, 96.0, float(i)));
    }
    fragColor = vec4(colour, 1.0);
}
