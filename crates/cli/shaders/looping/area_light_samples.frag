// Direct light of a rectangular lamp by stratified samples, with occlusion by three balls.
// SPDX-License-Identifier: MIT OR Apache-2.0
float rnd(vec2 p) {
    return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453);
}

bool blocked(vec3 o, vec3 d, float far) {
    for (int i = 0; i < 3; i++) {
        vec3 c = o - vec3(1.2 * float(i) - 1.2, 0.45, 0.5 * sin(iTime + 2.0 * float(i)));
        float b = dot(c, d), h = b * b - dot(c, c) + 0.2;
        if (h > 0.0 && -b - sqrt(h) > 1e-3 && -b - sqrt(h) < far) return true;
    }
    return false;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, 2.5, 4.0), d = normalize(vec3(uv.x, uv.y - 1.0, -1.8)), n = vec3(0.0, 1.0, 0.0);
    float t = d.y < 0.0 ? -o.y / d.y : 1e3;
    for (int i = 0; i < 3; i++) {
        vec3 centre = vec3(1.2 * float(i) - 1.2, 0.45, 0.5 * sin(iTime + 2.0 * float(i))), c = o - centre;
        float b = dot(c, d), h = b * b - dot(c, c) + 0.2;
        if (h > 0.0 && -b - sqrt(h) < t) {
            t = -b - sqrt(h);
            n = (o + t * d - centre) / sqrt(0.2);
        }
    }
    vec3 colour = vec3(0.02, 0.03, 0.05);
    if (t < 1e2) {
        vec3 p = o + t * d + 1e-3 * n;
        float sum = 0.0;
        const int SIDE = 4;
        for (int j = 0; j < SIDE; j++) {
            for (int i = 0; i < SIDE; i++) {
                vec2 s = (vec2(i, j) + vec2(rnd(fragCoord + float(i)), rnd(fragCoord.yx + float(j) + 0.5))) / float(SIDE) - 0.5;
                vec3 to = vec3(2.5 * s.x, 3.0, 1.5 * s.y - 1.0) - p;
                float r2 = dot(to, to);
                vec3 l = to * inversesqrt(r2);
                float facing = max(dot(n, l), 0.0) * max(l.y, 0.0);
                if (facing > 0.0 && !blocked(p, l, sqrt(r2))) sum += facing / r2;
            }
        }
        colour += vec3(0.9, 0.85, 0.75) * sum / float(SIDE * SIDE) * 6.0;
    }
    fragColor = vec4(sqrt(min(colour, 1.0)), 1.0);
}
