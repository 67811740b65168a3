// Hills of eroded value noise: a march with steps that grow with the distance, octaves by distance, and a refined crossing.
// SPDX-License-Identifier: MIT OR Apache-2.0
float hash(vec2 p) {
    p = fract(p * vec2(0.3183099, 0.3678794));
    p += dot(p, p.yx + 19.19);
    return fract(p.x * p.y * 95.4307);
}

vec3 noised(vec2 x) {
    vec2 i = floor(x), f = fract(x);
    vec2 u = f * f * (3.0 - 2.0 * f), du = 6.0 * f * (1.0 - f);
    float a = hash(i), b = hash(i + vec2(1, 0)), c = hash(i + vec2(0, 1)), d = hash(i + vec2(1, 1));
    return vec3(a + (b - a) * u.x + (c - a) * u.y + (a - b - c + d) * u.x * u.y, du * (vec2(b - a, c - a) + (a - b - c + d) * u.yx));
}

float height(vec2 p, int octaves) {
    float sum = 0.0, weight = 1.0;
    vec2 slope = vec2(0.0);
    for (int i = 0; i < octaves; i++) {
        vec3 n = noised(p);
        slope += n.yz;
        sum += weight * n.x / (1.0 + dot(slope, slope));
        weight *= 0.5;
        p = mat2(1.6, -1.2, 1.2, 1.6) * p;
    }
    return 1.4 * sum;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 eye = vec3(0.4 * iTime, 2.0, 0.0), d = normalize(vec3(uv.x, uv.y - 0.35, 1.6));
    vec3 colour = mix(vec3(0.75, 0.8, 0.85), vec3(0.3, 0.5, 0.8), max(d.y, 0.0));
    float t = 0.1, last = 0.0;
    for (int i = 0; i < 110; i++) {
        vec3 p = eye + t * d;
        int octaves = max(3, 7 - int(0.5 * t));
        float gap = p.y - height(p.xz, octaves);
        if (gap < 0.002 * t) {
            float low = last, high = t;
            for (int k = 0; k < 4; k++) {
                float mid = 0.5 * (low + high);
                vec3 q = eye + mid * d;
                if (q.y < height(q.xz, octaves)) high = mid; else low = mid;
            }
            p = eye + high * d;
            vec2 e = vec2(0.01 * high, 0.0);
            vec3 n = normalize(vec3(height(p.xz - e, 6) - height(p.xz + e, 6), 2.0 * e.x, height(p.xz - e.yx, 6) - height(p.xz + e.yx, 6)));
            vec3 rock = mix(vec3(0.35, 0.3, 0.25), vec3(0.3, 0.4, 0.15), smoothstep(0.6, 0.9, n.y));
            rock = mix(rock, vec3(0.95), smoothstep(1.2, 1.5, p.y) * smoothstep(0.5, 0.8, n.y));
            colour = mix(rock * (0.2 + max(dot(n, normalize(vec3(0.6, 0.5, -0.4))), 0.0)), colour, 1.0 - exp(-0.002 * high * high));
            break;
        }
        last = t;
        t += 0.4 * gap + 0.002 * t;
        if (t > 25.0 || (p.y > 3.0 && d.y > 0.0)) break;
    }
    fragColor = vec4(colour, 1.0);
}
