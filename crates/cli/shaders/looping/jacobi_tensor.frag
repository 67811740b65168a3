// Principal axes of a picture's structure: a 3 × 3 covariance over a window, diagonalised by Jacobi rotations.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec3 mean = vec3(0.0);
    mat3 m = mat3(0.0);
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++) {
            vec3 c = texture(iChannel0, (fragCoord + 2.0 * vec2(x, y)) / iResolution.xy).rgb;
            mean += c / 25.0;
            m += outerProduct(c, c);
        }
    m = m / 25.0 - outerProduct(mean, mean);
    mat3 axes = mat3(1.0);
    for (int sweep = 0; sweep < 4; sweep++) {
        for (int i = 0; i < 2; i++) {
            for (int j = i + 1; j < 3; j++) {
                if (abs(m[i][j]) < 1e-7) continue;
                float theta = (m[j][j] - m[i][i]) / (2.0 * m[i][j]);
                float t = (theta < 0.0 ? -1.0 : 1.0) / (abs(theta) + sqrt(theta * theta + 1.0));
                float c = inversesqrt(t * t + 1.0), s = t * c;
                mat3 r = mat3(1.0);
                r[i][i] = c;
                r[j][j] = c;
                r[i][j] = -s;
                r[j][i] = s;
                m = transpose(r) * m * r;
                axes = axes * r;
            }
        }
    }
    int main_axis = 0;
    for (int i = 1; i < 3; i++)
        if (m[i][i] > m[main_axis][main_axis]) main_axis = i;
    fragColor = vec4(abs(axes[main_axis]) * (0.3 + 0.7 * mean) + sqrt(max(m[main_axis][main_axis], 0.0)), 1.0);
}
