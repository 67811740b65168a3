// Smoothly joined balls that mirror each other: a march for each of three bounces.
// SPDX-License-Identifier: MIT OR Apache-2.0
float blend(float a, float b, float k) {
    float h = max(k - abs(a - b), 0.0) / k;
    return min(a, b) - 0.25 * h * h * k;
}

float scene(vec3 p) {
    float d = 1e3;
    for (int i = 0; i < 6; i++) {
        float a = float(i) * 1.047 + iTime * (0.3 + 0.1 * float(i));
        vec3 c = vec3(cos(a), 0.5 * sin(1.7 * a), sin(a)) * (0.7 + 0.2 * sin(float(i)));
        d = blend(d, length(p - c) - 0.35, 0.4);
    }
    return blend(d, p.y + 1.1, 0.3);
}

vec3 slope(vec3 p) {
    vec3 g = vec3(0.0);
    for (int i = 0; i < 4; i++) {
        vec3 e = 0.5773 * (2.0 * vec3((((i + 3) >> 1) & 1), ((i >> 1) & 1), (i & 1)) - 1.0);
        g += e * scene(p + 5e-4 * e);
    }
    return normalize(g);
}

vec3 sky(vec3 d) {
    return mix(vec3(0.9, 0.6, 0.4), vec3(0.2, 0.35, 0.7), smoothstep(-0.1, 0.6, d.y)) + 0.6 * pow(max(dot(d, normalize(vec3(1.0, 0.6, 0.4))), 0.0), 32.0);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (fragCoord - 0.5 * iResolution.xy) / iResolution.y;
    vec3 p = vec3(0.0, 0.4, 3.2), d = normalize(vec3(uv, -1.2)), sum = vec3(0.0);
    float weight = 1.0;
    for (int bounce = 0; bounce < 3; bounce++) {
        float t = 0.02;
        bool hit = false;
        for (int i = 0; i < 48 && t < 8.0; i++) {
            float h = scene(p + d * t);
            if (h < 2e-3) {
                hit = true;
                break;
            }
            t += h;
        }
        if (!hit) {
            sum += weight * sky(d);
            break;
        }
        p += d * t;
        vec3 n = slope(p);
        float fresnel = 0.25 + 0.75 * pow(1.0 + dot(d, n), 5.0);
        sum += weight * (1.0 - fresnel) * vec3(0.5, 0.15, 0.1) * (0.4 + 0.6 * n.y);
        weight *= fresnel;
        d = reflect(d, n);
        p += 0.01 * n;
    }
    fragColor = vec4(sum / (1.0 + sum), 1.0);
}
