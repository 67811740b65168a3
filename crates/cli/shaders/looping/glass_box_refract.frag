// A rounded glass box: the ray is refracted in, marched inside with the negated distance, and refracted out, once for each of three wavelengths.
// SPDX-License-Identifier: MIT OR Apache-2.0
float shape(vec3 p) {
    float c = cos(0.4 * iTime), s = sin(0.4 * iTime);
    p.xz = mat2(c, s, -s, c) * p.xz;
    p.xy = mat2(0.8, 0.6, -0.6, 0.8) * p.xy;
    vec3 q = abs(p) - vec3(0.55);
    return length(max(q, 0.0)) + min(max(q.x, max(q.y, q.z)), 0.0) - 0.12;
}

vec3 normal(vec3 p) {
    const vec2 k = vec2(1.0, -1.0);
    return normalize(k.xyy * shape(p + k.xyy * 1e-3) + k.yyx * shape(p + k.yyx * 1e-3) + k.yxy * shape(p + k.yxy * 1e-3) + k.xxx * shape(p + k.xxx * 1e-3));
}

float march(vec3 from, vec3 ray, float side) {
    float t = 0.0;
    int left = 64;
    while (left-- > 0) {
        float d = side * shape(from + t * ray);
        if (d < 5e-4) return t;
        t += d;
        if (t > 6.0) break;
    }
    return -1.0;
}

vec3 room(vec3 d) {
    vec2 uv = vec2(atan(d.z, d.x) / 6.2832, 0.5 + 0.5 * d.y);
    return texture(iChannel0, uv * vec2(4.0, 2.0)).rgb * (0.6 + 0.6 * uv.y);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 eye = vec3(0.0, 0.0, 2.6), ray = normalize(vec3(uv, -2.0));
    vec3 colour = room(ray);
    float t = march(eye, ray, 1.0);
    if (t > 0.0) {
        vec3 p = eye + t * ray, n = normal(p);
        float fresnel = 0.04 + 0.96 * pow(1.0 + dot(ray, n), 5.0);
        vec3 through = vec3(0.0);
        for (int band = 0; band < 3; band++) {
            float eta = 1.45 + 0.03 * float(band);
            vec3 d = refract(ray, n, 1.0 / eta), at = p - 0.005 * n;
            float path = 0.0;
            for (int inner = 0; inner < 4; inner++) {
                float s = march(at, d, -1.0);
                if (s < 0.0) break;
                at += s * d;
                path += s;
                vec3 m = -normal(at), o = refract(d, m, eta);
                if (dot(o, o) > 0.0) {
                    d = o;
                    break;
                }
                d = reflect(d, m);
                at += 0.005 * m;
            }
            through[band] = room(d)[band] * exp(-0.3 * path * float(3 - band) / 3.0);
        }
        colour = mix(through, room(reflect(ray, n)), fresnel);
    }
    fragColor = vec4(colour, 1.0);
}
