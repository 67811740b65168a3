// A tunnel whose axis bends; capsules along it are found by walking and only the three nearest are evaluated at each step.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 axis(float z) {
    return vec2(1.2 * sin(0.35 * z), 0.8 * cos(0.27 * z));
}

float inside_of(vec3 p, out float glow) {
    float wall = 1.4 - length(p.xy - axis(p.z)) + 0.08 * sin(6.0 * p.z) * sin(8.0 * atan(p.y - axis(p.z).y, p.x - axis(p.z).x));
    float z = floor(p.z / 1.5);
    glow = 1e3;
    for (float k = -1.0; k <= 1.0; k++) {
        float at = (z + k + 0.5) * 1.5, a = 2.1 * (z + k) + iTime;
        vec3 c = vec3(axis(at) + 0.8 * vec2(cos(a), sin(a)), at), q = p - c;
        q.z -= clamp(q.z, -0.35, 0.35);
        glow = min(glow, length(q) - 0.09);
    }
    return min(wall, glow);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float z = 3.0 * iTime;
    vec3 o = vec3(axis(z), z), d = normalize(vec3(uv + axis(z + 1.5) - axis(z), 1.5));
    float t = 0.05, glow, gathered = 0.0;
    for (int i = 0; i < 72; i++) {
        float h = inside_of(o + t * d, glow);
        gathered += 0.012 / (0.03 + glow * glow);
        if (h < 0.003 || t > 22.0) break;
        t += 0.8 * h;
    }
    vec3 p = o + t * d;
    float rings = 0.5 + 0.5 * sin(6.0 * p.z);
    vec3 colour = mix(vec3(0.15, 0.1, 0.2), vec3(0.3, 0.35, 0.4), rings) * exp(-0.12 * t);
    fragColor = vec4(colour + min(gathered, 2.0) * vec3(0.9, 0.4, 0.15) * 0.4, 1.0);
}
