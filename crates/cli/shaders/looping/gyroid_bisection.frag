// A gyroid shell in a ball: fixed steps find a change of sign, bisection refines it.
// SPDX-License-Identifier: MIT OR Apache-2.0
float field(vec3 p) {
    vec3 q = 5.0 * p + vec3(0.0, iTime, 0.0);
    return dot(sin(q), cos(q.yzx)) + 0.2 * sin(iTime);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 eye = vec3(0.0, 0.0, 3.0), d = normalize(vec3(uv, -2.2));
    float b = dot(eye, d), h = b * b - dot(eye, eye) + 1.0;
    vec3 colour = vec3(0.05);
    if (h >= 0.0) {
        float a = -b - sqrt(h), z = -b + sqrt(h), step_length = (z - a) / 40.0;
        float before = field(eye + a * d), t = a;
        for (int i = 0; i < 40; i++) {
            t += step_length;
            float now = field(eye + t * d);
            if (before * now < 0.0) {
                float low = t - step_length, high = t;
                for (int k = 0; k < 8; k++) {
                    float mid = 0.5 * (low + high), at_mid = field(eye + mid * d);
                    if (before * at_mid < 0.0) {
                        high = mid;
                    } else {
                        low = mid;
                        before = at_mid;
                    }
                }
                vec3 p = eye + high * d, q = 5.0 * p + vec3(0.0, iTime, 0.0);
                vec3 n = normalize(cos(q) * cos(q.yzx) - sin(q.zxy) * sin(q));
                n *= -sign(dot(n, d));
                float shade = 0.2 + 0.8 * max(dot(n, normalize(vec3(1.0, 1.0, 1.0))), 0.0);
                colour = shade * mix(vec3(0.2, 0.6, 0.5), vec3(0.9, 0.5, 0.3), 0.5 + 0.5 * n.x);
                break;
            }
            before = now;
        }
    }
    fragColor = vec4(sqrt(colour), 1.0);
}
