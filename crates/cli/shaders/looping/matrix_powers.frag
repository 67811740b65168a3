// A mat4 raised to a power by squaring, applied to the pixel; its trace and the image of a grid.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float a = 0.2 + 0.05 * p.x, b = 0.1 * sin(iTime);
    mat4 m = mat4(cos(a), sin(a), 0.02, 0.0, -sin(a), cos(a), 0.0, b, 0.05, 0.0, 0.97, 0.03, 0.0, -b, 0.0, 1.0), r = mat4(1.0);
    int e = 5 + int(20.0 * fragCoord.y / iResolution.y);
    while (e > 0) {
        if ((e & 1) == 1) r = r * m;
        m = m * m;
        e >>= 1;
    }
    vec4 q = r * vec4(p, 0.5, 1.0);
    float trace = 0.0;
    for (int i = 0; i < 4; i++) trace += r[i][i];
    vec2 grid = smoothstep(0.08, 0.02, abs(fract(4.0 * q.xy) - 0.5));
    fragColor = vec4(0.5 + 0.4 * cos(trace + vec3(0.0, 1.0, 2.0)) + 0.4 * max(grid.x, grid.y), 1.0);
}
