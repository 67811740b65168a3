// A flame: a short march through turbulence whose octaves rise at their own speeds.
// SPDX-License-Identifier: MIT OR Apache-2.0
float turbulence(vec3 p) {
    float sum = 0.0, f = 1.0;
    for (int i = 0; i < 4; i++) {
        vec3 q = p * f - vec3(0.0, iTime * (1.0 + 0.6 * f), 0.0);
        sum += abs(dot(sin(q.xyz + 1.3 * cos(q.zxy)), vec3(0.33))) / f;
        f *= 2.1;
    }
    return sum;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, 0.3, 3.0), d = normalize(vec3(uv.x, uv.y, -1.6));
    float t = 1.8, heat = 0.0;
    for (int i = 0; i < 26; i++) {
        vec3 p = o + t * d;
        float body = length(p * vec3(1.0, 0.45, 1.0) + vec3(0.0, 0.35, 0.0)) - 0.65;
        float flame = body + 0.55 * (turbulence(2.0 * p) - 0.35) * clamp(p.y + 1.2, 0.0, 1.2);
        if (flame < 0.1) heat += 0.11 * (0.1 - flame);
        t += max(0.03, 0.35 * flame);
        if (t > 4.5 || heat > 1.2) break;
    }
    vec3 colour = vec3(1.6, 0.6, 0.15) * heat * 1.8;
    colour += vec3(0.0, 0.5, 0.6) * heat * heat;
    fragColor = vec4(1.0 - exp(-2.0 * colour) + vec3(0.02, 0.01, 0.03), 1.0);
}
