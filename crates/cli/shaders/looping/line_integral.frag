// Line integral convolution: noise is averaged along streamlines of a field of vortices, forwards and backwards.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 flow(vec2 p) {
    vec2 v = vec2(0.2, 0.0);
    for (int i = 0; i < 5; i++) {
        float k = float(i);
        vec2 q = p - vec2(sin(1.9 * k + 0.2 * iTime), 0.7 * cos(2.7 * k));
        v += vec2(-q.y, q.x) * ((i & 1) == 0 ? 1.0 : -1.0) / (0.1 + dot(q, q));
    }
    return normalize(v + 1e-5);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float sum = 0.0, total = 0.0;
    for (int side = -1; side <= 1; side += 2) {
        vec2 q = p;
        for (int i = 0; i < 14; i++) {
            float w = 1.0 - float(i) / 14.0;
            sum += w * textureLod(iChannel0, 0.9 * q, 0.0).r;
            total += w;
            q += 0.012 * float(side) * flow(q);
        }
    }
    float v = smoothstep(0.3, 0.7, sum / total);
    vec2 f = flow(p);
    fragColor = vec4(v * (0.6 + 0.4 * cos(atan(f.y, f.x) + vec3(0.0, 2.1, 4.2))), 1.0);
}
