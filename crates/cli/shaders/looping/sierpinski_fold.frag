// A Sierpinski tetrahedron by folding space at its symmetry planes, with the trap of the folds as a colour.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 tetra(vec3 p) {
    float scale = 1.0, trap = 1e3;
    for (int i = 0; i < 9; i++) {
        if (p.x + p.y < 0.0) p.xy = -p.yx;
        if (p.x + p.z < 0.0) p.xz = -p.zx;
        if (p.y + p.z < 0.0) p.yz = -p.zy;
        p = 2.0 * p - 1.0;
        scale *= 2.0;
        trap = min(trap, dot(p, p));
    }
    return vec2((length(p) - 1.6) / scale, trap);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (fragCoord - 0.5 * iResolution.xy) / iResolution.y;
    float c = cos(0.5 * iTime), s = sin(0.5 * iTime);
    mat3 view = mat3(c, 0.0, -s, 0.0, 1.0, 0.0, s, 0.0, c);
    vec3 eye = view * vec3(0.0, 0.3, 3.6), ray = view * normalize(vec3(uv, -1.3));
    float t = 1.5, trap = 0.0;
    int i;
    for (i = 0; i < 70; i++) {
        vec2 h = tetra(eye + ray * t);
        trap = h.y;
        if (h.x < 0.0015 || t > 7.0) break;
        t += h.x;
    }
    vec3 colour = t > 7.0 || i == 70 ? vec3(0.02 + 0.1 * uv.y * uv.y) : (0.5 + 0.5 * cos(vec3(0.0, 0.6, 1.2) + 3.0 * sqrt(trap))) * (1.0 - float(i) / 70.0);
    fragColor = vec4(colour, 1.0);
}
