// Light from nine bands of spherical harmonics: associated Legendre polynomials by recurrence for each direction of a ball.
// SPDX-License-Identifier: MIT OR Apache-2.0
float legendre(int l, int m, float x) {
    float pmm = 1.0, root = sqrt(max(1.0 - x * x, 0.0)), odd = 1.0;
    for (int i = 0; i < m; i++) {
        pmm *= -odd * root;
        odd += 2.0;
    }
    if (l == m) return pmm;
    float next = x * float(2 * m + 1) * pmm;
    for (int k = m + 2; k <= l; k++) {
        float now = (x * float(2 * k - 1) * next - float(k + m - 1) * pmm) / float(k - m);
        pmm = next;
        next = now;
    }
    return next;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 1.1 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float r2 = dot(p, p);
    vec3 colour = vec3(0.05 + 0.05 * p.y);
    if (r2 < 1.0) {
        vec3 n = vec3(p, sqrt(1.0 - r2));
        float phi = atan(n.x, n.z) + 0.3 * iTime, sum = 0.0;
        for (int l = 0; l < 6; l++) {
            float scale = 1.0;
            for (int m = 0; m <= l; m++) {
                if (m > 0) scale /= float((l + m) * max(l - m + 1, 1));
                sum += sqrt(float(2 * l + 1) * scale) * legendre(l, m, n.y) * cos(float(m) * phi + float(l * l)) * 0.5;
            }
        }
        colour = (sum > 0.0 ? vec3(0.95, 0.6, 0.3) : vec3(0.3, 0.5, 0.95)) * min(abs(sum), 1.0) * (0.4 + 0.6 * n.z);
    }
    fragColor = vec4(colour, 1.0);
}
