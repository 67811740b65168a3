// Double pendulums started at the pixel's angles, integrated by Runge and Kutta until the first turn over.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec4 slope(vec4 s) {
    float d = s.x - s.y, c = cos(d), q = 2.0 - c * c;
    float a = (-sin(s.x) * 2.0 - s.w * s.w * sin(d) - c * (s.z * s.z * sin(d) - sin(s.y))) / q;
    float b = (2.0 * (s.z * s.z * sin(d) - sin(s.y)) + c * (s.w * s.w * sin(d) + 2.0 * sin(s.x))) / q;
    return vec4(s.z, s.w, a, b);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy;
    vec4 s = vec4(3.1 * (2.0 * uv - 1.0), 0.1 * sin(iTime), 0.0);
    const float dt = 0.08;
    int n = 0;
    while (n < 90 && abs(s.y) < 3.14159) {
        vec4 k1 = slope(s), k2 = slope(s + 0.5 * dt * k1), k3 = slope(s + 0.5 * dt * k2), k4 = slope(s + dt * k3);
        s += dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
        n++;
    }
    float t = float(n) / 90.0;
    fragColor = vec4(n == 90 ? vec3(0.05) + 0.05 * s.xyz : 0.5 + 0.5 * cos(6.0 * sqrt(t) + vec3(0.0, 1.0, 2.0)), 1.0);
}
