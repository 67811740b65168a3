#version 450
// A small ray marcher: a loop that ends where a distance, which is a square root, is short.
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0, std140) uniform Inputs {
    vec2 resolution;
    float time;
};

float scene(vec3 p) {
    vec3 q = mod(p + 2.0, 4.0) - 2.0;
    return min(length(q) - 0.8, p.y + 1.0);
}

vec3 normal(vec3 p) {
    vec2 e = vec2(0.001, 0.0);
    return normalize(vec3(scene(p + e.xyy) - scene(p - e.xyy), scene(p + e.yxy) - scene(p - e.yxy), scene(p + e.yyx) - scene(p - e.yyx)));
}

void main() {
    vec2 uv = (2.0 * gl_FragCoord.xy - resolution) / resolution.y;
    vec3 from = vec3(sin(time), 0.5, -3.0), ray = normalize(vec3(uv, 1.5));
    float far = 0.0;
    int steps = 0;
    for (; steps < 64; steps++) {
        float d = scene(from + far * ray);
        if (d < 0.001 || far > 40.0) break;
        far += d;
    }
    vec3 light = far > 40.0 ? vec3(0.2) : vec3(0.5 + 0.5 * dot(normal(from + far * ray), normalize(vec3(1.0, 2.0, -1.0))));
    color = vec4(light, float(steps) / 64.0);
}
