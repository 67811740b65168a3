// Ambient occlusion in screen space: samples in a hemisphere around the point of a depth image, accepted by range.
// SPDX-License-Identifier: MIT OR Apache-2.0
float depth(vec2 uv) {
    return 2.0 + 0.6 * texture(iChannel0, 0.6 * uv).r + 0.4 * sin(5.0 * uv.x + iTime) * cos(4.0 * uv.y);
}

vec3 position(vec2 uv) {
    float z = depth(uv);
    return vec3((2.0 * uv - 1.0) * vec2(iResolution.x / iResolution.y, 1.0) * z, z);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy, e = 1.5 / iResolution.xy;
    vec3 p = position(uv);
    vec3 n = normalize(cross(position(uv + vec2(0.0, e.y)) - p, position(uv + vec2(e.x, 0.0)) - p));
    float spin = 6.2832 * fract(52.9829 * fract(dot(fragCoord, vec2(0.0671, 0.0058)))), sum = 0.0;
    for (int i = 0; i < 16; i++) {
        float k = (float(i) + 0.5) / 16.0, a = spin + 2.39996 * float(i), z = 1.0 - k;
        vec3 s = vec3(sqrt(1.0 - z * z) * vec2(cos(a), sin(a)), z);
        if (dot(s, n) < 0.0) s = -s;
        vec3 q = p + 0.35 * mix(0.2, 1.0, k * k) * s;
        vec2 at = 0.5 + 0.5 * q.xy / q.z / vec2(iResolution.x / iResolution.y, 1.0);
        float there = depth(at);
        sum += step(there, q.z - 0.01) * smoothstep(0.0, 1.0, 0.35 / (abs(p.z - there) + 1e-3));
    }
    float open = 1.0 - sum / 16.0;
    fragColor = vec4(vec3(0.9, 0.88, 0.82) * open * (0.5 + 0.5 * abs(n.z)), 1.0);
}
