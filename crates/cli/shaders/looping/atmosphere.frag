// Rayleigh and Mie scattering of a planet's air: samples along the view ray, and for each the way to the sun.
// SPDX-License-Identifier: MIT OR Apache-2.0
const float GROUND = 6.36, TOP = 6.42;

vec2 shell(vec3 o, vec3 d, float radius) {
    float b = dot(o, d), h = b * b - dot(o, o) + radius * radius;
    return h < 0.0 ? vec2(1e4, -1e4) : vec2(-b - sqrt(h), -b + sqrt(h));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, GROUND + 0.001, 0.0), d = normalize(vec3(uv.x, 0.7 * uv.y + 0.45, -1.0));
    vec3 sun = normalize(vec3(0.2, 0.25 + 0.2 * sin(0.2 * iTime), -1.0));
    float end = shell(o, d, TOP).y;
    vec2 earth = shell(o, d, GROUND);
    if (earth.x > 0.0 && earth.x < 1e3) end = earth.x;
    const vec3 rayleigh = vec3(5.8, 13.5, 33.1);
    const float mie = 21.0;
    vec3 sum_r = vec3(0.0), sum_m = vec3(0.0);
    vec2 depth = vec2(0.0);
    const int VIEW = 12, LIGHT = 6;
    float ds = end / float(VIEW);
    for (int i = 0; i < VIEW; i++) {
        vec3 p = o + (float(i) + 0.5) * ds * d;
        float height = length(p) - GROUND;
        vec2 here = exp(-height / vec2(0.008, 0.0012)) * ds;
        depth += here;
        float dl = shell(p, sun, TOP).y / float(LIGHT);
        vec2 light = vec2(0.0);
        int j = 0;
        for (; j < LIGHT; j++) {
            float above = length(p + (float(j) + 0.5) * dl * sun) - GROUND;
            if (above < 0.0) break;
            light += exp(-above / vec2(0.008, 0.0012)) * dl;
        }
        if (j < LIGHT) continue;
        vec3 attenuation = exp(-rayleigh * (depth.x + light.x) - 1.1 * mie * (depth.y + light.y));
        sum_r += here.x * attenuation;
        sum_m += here.y * attenuation;
    }
    float mu = dot(d, sun);
    float phase_r = 0.0597 * (1.0 + mu * mu), phase_m = 0.0196 * (1.0 + mu * mu) / pow(1.5776 - 1.52 * mu, 1.5);
    vec3 colour = 20.0 * (sum_r * rayleigh * phase_r + sum_m * mie * phase_m);
    fragColor = vec4(1.0 - exp(-colour), 1.0);
}
