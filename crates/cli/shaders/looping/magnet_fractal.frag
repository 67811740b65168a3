// The magnet fractal of type I: iteration of a rational map with two ways to end, at infinity or at one.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 c = vec2(1.4, 0.0) + 2.0 * (2.0 * fragCoord - iResolution.xy) / iResolution.y, z = vec2(0.02 * sin(iTime), 0.0);
    float n = 0.0;
    int how = 0;
    while (how == 0 && n < 70.0) {
        vec2 top = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c - vec2(1.0, 0.0);
        vec2 bottom = 2.0 * z + c - vec2(2.0, 0.0);
        float m = dot(bottom, bottom);
        if (m < 1e-9) break;
        vec2 q = vec2(dot(top, bottom), top.y * bottom.x - top.x * bottom.y) / m;
        z = vec2(q.x * q.x - q.y * q.y, 2.0 * q.x * q.y);
        n += 1.0;
        if (dot(z, z) > 1e4) how = 1;
        else if (dot(z - vec2(1.0, 0.0), z - vec2(1.0, 0.0)) < 1e-4) how = 2;
    }
    vec3 base = how == 1 ? vec3(0.2, 0.5, 0.9) : how == 2 ? vec3(0.9, 0.6, 0.2) : vec3(0.1);
    fragColor = vec4(base * (0.4 + 0.6 * cos(0.4 * n)), 1.0);
}
