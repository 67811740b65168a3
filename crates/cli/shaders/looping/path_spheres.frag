// Path tracing of a few spheres: four paths a pixel, up to four diffuse or mirror bounces, a lamp in the ceiling.
// SPDX-License-Identifier: MIT OR Apache-2.0
uint state;

float next() {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return float(state >> 8) / 16777216.0;
}

const vec4 BALLS[6] = vec4[6](vec4(0.0, -100.5, 0.0, 100.0), vec4(-1.0, 0.0, 0.0, 0.5), vec4(0.0, -0.1, 0.4, 0.4), vec4(1.0, 0.1, -0.2, 0.6), vec4(0.3, 3.0, 0.5, 1.0), vec4(-0.2, -0.35, 1.0, 0.15));
const vec3 PAINT[6] = vec3[6](vec3(0.7), vec3(0.8, 0.3, 0.2), vec3(0.9), vec3(0.3, 0.5, 0.8), vec3(0.0), vec3(0.8, 0.7, 0.2));

int nearest(vec3 o, vec3 d, out float t) {
    t = 1e4;
    int found = -1;
    for (int i = 0; i < 6; i++) {
        vec3 c = o - BALLS[i].xyz;
        float b = dot(c, d), h = b * b - dot(c, c) + BALLS[i].w * BALLS[i].w;
        if (h < 0.0) continue;
        float near = -b - sqrt(h);
        if (near > 1e-3 && near < t) {
            t = near;
            found = i;
        }
    }
    return found;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    state = uint(fragCoord.x) * 1973u + uint(fragCoord.y) * 9277u + uint(iFrame) * 26699u + 1u;
    vec3 sum = vec3(0.0);
    for (int path = 0; path < 4; path++) {
        vec2 uv = (2.0 * (fragCoord + vec2(next(), next()) - 0.5) - iResolution.xy) / iResolution.y;
        vec3 o = vec3(0.0, 0.4, 3.5), d = normalize(vec3(uv.x, uv.y - 0.2, -2.2)), through = vec3(1.0);
        for (int bounce = 0; bounce < 4; bounce++) {
            float t;
            int hit = nearest(o, d, t);
            if (hit < 0) {
                sum += through * mix(vec3(0.3), vec3(0.4, 0.5, 0.7), 0.5 + 0.5 * d.y);
                break;
            }
            if (hit == 4) {
                sum += through * 4.0;
                break;
            }
            o += t * d;
            vec3 n = (o - BALLS[hit].xyz) / BALLS[hit].w;
            through *= PAINT[hit];
            if (hit == 2) {
                d = reflect(d, n);
            } else {
                float z = 2.0 * next() - 1.0, a = 6.2832 * next();
                d = normalize(n + vec3(sqrt(1.0 - z * z) * vec2(cos(a), sin(a)), z) * 0.999);
            }
            o += 1e-3 * n;
        }
    }
    fragColor = vec4(sqrt(sum / 4.0), 1.0);
}
