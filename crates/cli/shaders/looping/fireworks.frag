// Fireworks: bursts of sparks under gravity and drag, each spark's light added up.
// SPDX-License-Identifier: MIT OR Apache-2.0
float h1(float n) { return fract(sin(n * 91.3458) * 47453.5453); }

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 sum = mix(vec3(0.02, 0.02, 0.08), vec3(0.0), 0.5 + 0.5 * p.y);
    for (int burst = 0; burst < 4; burst++) {
        float when = 0.4 * iTime + 0.25 * float(burst), age = fract(when), id = floor(when) + 17.0 * float(burst);
        vec2 centre = vec2(1.2 * (2.0 * h1(id) - 1.0), 0.5 * h1(id + 3.0) + 0.1);
        vec2 d0 = p - centre;
        // No spark is farther out than this.
        if (dot(d0, d0) > 1.0) continue;
        vec3 tint = 0.5 + 0.5 * cos(6.28 * h1(id + 7.0) + vec3(0.0, 2.0, 4.0));
        for (int i = 0; i < 40; i++) {
            float a = 6.2832 * h1(id + float(i)), v = 0.3 + 0.4 * h1(id - float(i)), spread = 1.0 - exp(-3.0 * age);
            vec2 at = centre + v * spread * vec2(cos(a), sin(a)) - vec2(0.0, 0.35 * age * age), d = p - at;
            float flicker = 0.6 + 0.4 * sin(40.0 * age + float(i));
            sum += tint * flicker * (1.0 - age) * 0.0004 / (dot(d, d) + 4e-4);
        }
    }
    fragColor = vec4(sum, 1.0);
}
