// Electric field lines: from the pixel along the field of five charges until one is met; the angle of arrival tells the line.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 1.5 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float ended = 0.0, steps = 0.0;
    bool done = false;
    while (!done && steps < 70.0) {
        vec2 e = vec2(0.0);
        for (int i = 0; i < 5; i++) {
            float a = 1.2566 * float(i) + 0.1 * iTime, charge = (i & 1) == 0 ? 1.0 : -1.0;
            vec2 d = p - (0.7 + 0.2 * float(i & 1)) * vec2(cos(a), sin(a));
            float r2 = dot(d, d);
            if (r2 < 0.004 && charge < 0.0) {
                ended = atan(d.y, d.x) + float(i);
                done = true;
                break;
            }
            e += charge * d / (r2 * sqrt(r2) + 1e-4);
        }
        p += 0.05 * normalize(e + 1e-6);
        steps += 1.0;
        if (dot(p, p) > 25.0) break;
    }
    vec3 colour = done ? 0.5 + 0.5 * cos(12.0 * ended + vec3(0.0, 0.5, 1.0)) : vec3(0.1, 0.1, 0.15);
    fragColor = vec4(colour * (1.0 - steps / 90.0), 1.0);
}
