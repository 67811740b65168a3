// The Lorenz attractor: a trajectory of 180 steps in projection, the pixel's distance to each piece of it.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 32.0 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 s = vec3(1.0 + 0.1 * iTime, 1.0, 20.0), sum = vec3(0.0);
    float turn = 0.3 * iTime, c = cos(turn), q = sin(turn);
    vec2 before = vec2(c * s.x + q * s.y, s.z - 25.0);
    for (int i = 0; i < 180; i++) {
        vec3 d = vec3(10.0 * (s.y - s.x), s.x * (28.0 - s.z) - s.y, s.x * s.y - 2.6667 * s.z);
        s += 0.012 * d;
        vec2 now = vec2(c * s.x + q * s.y, s.z - 25.0), e = now - before, w = p - before;
        float r = length(w - e * clamp(dot(w, e) / max(dot(e, e), 1e-6), 0.0, 1.0));
        sum += 0.02 / (0.02 + r * r) * (0.5 + 0.5 * cos(0.03 * float(i) + vec3(0.0, 2.0, 4.0)));
        before = now;
    }
    fragColor = vec4(1.0 - exp(-sum), 1.0);
}
