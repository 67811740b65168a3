// A patch of sea as a direct sum of 64 spectral waves (Phillips' weights, deep-water dispersion) with slopes for the light.
// SPDX-License-Identifier: MIT OR Apache-2.0
float gauss(uint n) {
    n = n * 747796405u + 2891336453u;
    uint a = ((n >> ((n >> 28u) + 4u)) ^ n) * 277803737u;
    return (float((a >> 16u) & 255u) + float((a >> 8u) & 255u) + float(a & 255u)) / 192.0 - 2.0;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 x = 30.0 * fragCoord / iResolution.y;
    float height = 0.0;
    vec2 slope = vec2(0.0);
    const vec2 wind = vec2(0.8, 0.6);
    for (int m = -4; m < 4; m++) {
        for (int n = -4; n < 4; n++) {
            if (m == 0 && n == 0) continue;
            vec2 k = 0.2094 * (vec2(m, n) + 0.37 * vec2(gauss(uint(m * 8 + n + 99)), gauss(uint(n * 8 - m + 199))));
            float k2 = max(dot(k, k), 1e-4), along = dot(k, wind) * inversesqrt(k2);
            float amplitude = sqrt(exp(-0.02 / k2) / (k2 * k2)) * abs(along) * 0.01;
            uint id = uint((m + 4) * 8 + n + 4);
            float phase = dot(k, x) - sqrt(9.81 * sqrt(k2)) * iTime + 3.0 * gauss(id);
            height += amplitude * cos(phase);
            slope -= amplitude * k * sin(phase);
        }
    }
    vec3 n = normalize(vec3(-3.0 * slope, 1.0));
    float glint = pow(max(dot(n, normalize(vec3(0.5, 0.4, 1.0))), 0.0), 60.0);
    vec3 colour = mix(vec3(0.0, 0.1, 0.2), vec3(0.2, 0.5, 0.55), 0.5 + 0.5 * tanh(height)) * (0.5 + 0.5 * n.x) + glint;
    fragColor = vec4(colour, 1.0);
}
