// An icosahedron as twenty triangles, each tested by Möller and Trumbore, with barycentric wires.
// SPDX-License-Identifier: MIT OR Apache-2.0
const int FACES[60] = int[60](0, 11, 5, 0, 5, 1, 0, 1, 7, 0, 7, 10, 0, 10, 11, 1, 5, 9, 5, 11, 4, 11, 10, 2, 10, 7, 6, 7, 1, 8,
    3, 9, 4, 3, 4, 2, 3, 2, 6, 3, 6, 8, 3, 8, 9, 4, 9, 5, 2, 4, 11, 6, 2, 10, 8, 6, 7, 9, 8, 1);

vec3 corner(int i) {
    float s = (i & 1) == 0 ? -1.0 : 1.0, t = (i & 2) == 0 ? 1.618 : -1.618;
    vec3 p = vec3(s, t, 0.0);
    return i < 4 ? p : i < 8 ? p.zxy : p.yzx;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float a = 0.5 * iTime, c = cos(a), s = sin(a);
    mat3 turn = mat3(c, 0.0, -s, 0.0, 1.0, 0.0, s, 0.0, c) * mat3(1.0, 0.0, 0.0, 0.0, 0.8, 0.6, 0.0, -0.6, 0.8);
    vec3 o = turn * vec3(0.0, 0.0, 6.0), d = turn * normalize(vec3(uv, -2.4)), normal = vec3(0.0), best_bary = vec3(0.0);
    float t = 1e3;
    int hits = 0;
    for (int f = 0; f < 20; f++) {
        vec3 v0 = corner(FACES[3 * f]), e1 = corner(FACES[3 * f + 1]) - v0, e2 = corner(FACES[3 * f + 2]) - v0;
        vec3 p = cross(d, e2);
        float det = dot(e1, p);
        if (abs(det) < 1e-6) continue;
        vec3 w = o - v0;
        float u = dot(w, p) / det;
        if (u < 0.0 || u > 1.0) continue;
        vec3 q = cross(w, e1);
        float v = dot(d, q) / det;
        if (v < 0.0 || u + v > 1.0) continue;
        hits++;
        float at = dot(e2, q) / det;
        if (at > 0.0 && at < t) {
            t = at;
            normal = normalize(cross(e1, e2));
            best_bary = vec3(u, v, 1.0 - u - v);
        }
    }
    vec3 colour = vec3(0.1, 0.1, 0.14) + 0.05 * uv.y;
    if (t < 1e3) {
        float wire = smoothstep(0.05, 0.02, min(best_bary.x, min(best_bary.y, best_bary.z)));
        colour = vec3(0.2, 0.5, 0.6) * (0.2 + 0.8 * abs(dot(normal, normalize(turn * vec3(0.5, 0.7, 0.5))))) + wire * vec3(0.9, 0.8, 0.5) + 0.05 * float(hits);
    }
    fragColor = vec4(colour, 1.0);
}
