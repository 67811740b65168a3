// A layer of clouds: front-to-back accumulation, and towards the sun a short march for each sample that holds water.
// SPDX-License-Identifier: MIT OR Apache-2.0
float noise(vec3 x) {
    vec3 i = floor(x), f = fract(x);
    f = f * f * (3.0 - 2.0 * f);
    vec2 uv = i.xy + vec2(37.0, 17.0) * i.z + f.xy;
    vec2 two = textureLod(iChannel0, (uv + 0.5) / 256.0, 0.0).yx;
    return mix(two.x, two.y, f.z);
}

float water(vec3 p, int octaves) {
    vec3 q = p - vec3(0.3, 0.0, 0.1) * iTime;
    float sum = 0.0, weight = 0.5;
    for (int i = 0; i < octaves; i++) {
        sum += weight * noise(q);
        q = 2.03 * q;
        weight *= 0.5;
    }
    return clamp(1.8 * sum - 0.75 - 0.4 * abs(p.y - 2.0), 0.0, 1.0);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 d = normalize(vec3(uv.x, uv.y + 0.5, 1.5)), sun = normalize(vec3(-0.5, 0.4, 0.8));
    vec3 sky = mix(vec3(0.7, 0.75, 0.8), vec3(0.2, 0.4, 0.75), clamp(d.y, 0.0, 1.0)) + pow(max(dot(d, sun), 0.0), 64.0);
    vec3 sum = vec3(0.0);
    float clear = 1.0;
    if (d.y > 0.02) {
        float t = 1.0 / d.y, end = min(3.0 / d.y, t + 12.0), step_length = (end - t) / 28.0;
        t += step_length * fract(52.9829189 * fract(dot(fragCoord, vec2(0.06711056, 0.00583715))));
        for (int i = 0; i < 28 && clear > 0.03; i++, t += step_length) {
            vec3 p = t * d;
            float w = water(p, 4);
            if (w <= 0.0) continue;
            float above = 0.0;
            for (int k = 1; k <= 3; k++) above += water(p + 0.2 * float(k) * sun, 3);
            float lit = exp(-1.2 * above);
            float take = 1.0 - exp(-2.0 * w * step_length);
            sum += clear * take * mix(vec3(0.45, 0.5, 0.6), vec3(1.2, 1.1, 1.0), lit);
            clear *= 1.0 - take;
        }
    }
    fragColor = vec4(sum + clear * sky, 1.0);
}
