// A sum of Gerstner waves, inverted by fixed-point iteration, under a ray that walks down onto it.
// SPDX-License-Identifier: MIT OR Apache-2.0
const int WAVES = 9;

vec3 displacement(vec2 x) {
    vec3 sum = vec3(0.0);
    float length_of = 4.0, amplitude = 0.22;
    for (int i = 0; i < WAVES; i++) {
        float a = 0.4 + 1.3 * sin(float(i) * 2.4), k = 6.2832 / length_of;
        vec2 dir = vec2(cos(a), sin(a));
        float phase = k * dot(dir, x) - sqrt(9.81 * k) * iTime * 0.5;
        sum += vec3(-0.8 * amplitude * dir * sin(phase), amplitude * cos(phase)).xzy;
        length_of *= 0.72;
        amplitude *= 0.7;
    }
    return sum;
}

float surface(vec2 x) {
    vec2 q = x;
    for (int i = 0; i < 3; i++) q = x - displacement(q).xz;
    return displacement(q).y;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, 2.0, iTime), d = normalize(vec3(uv.x, uv.y - 0.4, 1.6));
    vec3 sky = mix(vec3(0.9, 0.8, 0.7), vec3(0.35, 0.55, 0.85), clamp(2.0 * d.y, 0.0, 1.0)), colour = sky;
    if (d.y < -0.02) {
        float t = (o.y - 0.7) / -d.y, end = (o.y + 0.8) / -d.y;
        for (int i = 0; i < 12; i++) {
            vec3 p = o + t * d;
            float gap = p.y - surface(p.xz);
            if (gap < 0.01 || t > end) break;
            t += 0.8 * gap;
        }
        vec3 p = o + t * d;
        float e = 0.02 + 0.004 * t, h = surface(p.xz);
        vec3 n = normalize(vec3(h - surface(p.xz + vec2(e, 0.0)), e, h - surface(p.xz + vec2(0.0, e))));
        float fresnel = 0.02 + 0.98 * pow(1.0 - max(dot(n, -d), 0.0), 5.0);
        vec3 r = reflect(d, n);
        vec3 up = mix(vec3(0.9, 0.8, 0.7), vec3(0.35, 0.55, 0.85), clamp(2.0 * r.y, 0.0, 1.0));
        colour = mix(vec3(0.02, 0.12, 0.15) * (1.0 + h), up, fresnel);
        colour = mix(colour, sky, 1.0 - exp(-0.0006 * t * t));
    }
    fragColor = vec4(colour, 1.0);
}
