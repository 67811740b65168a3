// Curtains of light: triangle noise gathered along the ray through layers of the sky, brighter at the lower edge.
// SPDX-License-Identifier: MIT OR Apache-2.0
float tri(float x) { return clamp(abs(fract(x) - 0.5), 0.01, 0.49); }

float curtain(vec2 p) {
    float z = 1.8, sum = 0.0;
    vec2 bp = p;
    p *= mat2(0.95534, 0.29552, -0.29552, 0.95534);
    for (int i = 0; i < 4; i++) {
        vec2 dg = vec2(tri(bp.x * 1.85) + tri(bp.y * 1.85), tri(bp.y * 1.85 + tri(bp.x * 1.85))) * 0.75;
        float c = cos(0.06 * iTime), s = sin(0.06 * iTime);
        p -= mat2(c, s, -s, c) * dg / z * 0.9;
        bp = bp * 1.3 + 0.3;
        z *= 1.45;
        p = 1.25 * mat2(0.95534, 0.29552, -0.29552, 0.95534) * -p;
        sum += (tri(p.x + tri(p.y))) / z;
    }
    return clamp(1.0 / pow(sum * 26.0, 1.3), 0.0, 0.55);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 d = normalize(vec3(uv.x, uv.y + 0.7, 1.4)), sum = vec3(0.0);
    if (d.y > 0.0) {
        float average = 0.0;
        for (float i = 0.0; i < 24.0; i++) {
            float t = (0.8 + pow(i, 1.4) * 0.004) / (2.0 * d.y + 0.4);
            float v = curtain((t * d).zx + 1.0);
            average = mix(average, v, 0.5);
            sum += average * (sin(1.0 - vec3(2.15, -0.5, 1.2) + 0.086 * i) * 0.5 + 0.5) * exp2(-0.13 * i - 2.5) * smoothstep(0.0, 3.0, i);
        }
        sum *= 2.4 * clamp(d.y * 8.0, 0.0, 1.0);
    }
    fragColor = vec4(sum + vec3(0.01, 0.02, 0.05) * (1.0 - 0.5 * uv.y), 1.0);
}
