// Magnification by a Lanczos kernel of three lobes.
// SPDX-License-Identifier: MIT OR Apache-2.0
float lanczos(float x) {
    x = abs(x);
    if (x < 1e-4) return 1.0;
    if (x >= 3.0) return 0.0;
    float p = 3.14159265 * x;
    return 3.0 * sin(p) * sin(p / 3.0) / (p * p);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 size = vec2(textureSize(iChannel0, 0));
    float zoom = 6.0 + 3.0 * sin(0.5 * iTime);
    vec2 p = fragCoord / zoom, base = floor(p - 0.5) + 0.5;
    float wx[6];
    for (int i = 0; i < 6; i++) wx[i] = lanczos(p.x - base.x - float(i - 2));
    vec4 sum = vec4(0.0);
    float total = 0.0;
    for (int j = -2; j <= 3; j++) {
        float wy = lanczos(p.y - base.y - float(j));
        for (int i = 0; i < 6; i++) {
            float w = wx[i] * wy;
            sum += w * textureLod(iChannel0, (base + vec2(i - 2, j)) / size, 0.0);
            total += w;
        }
    }
    fragColor = clamp(sum / total, 0.0, 1.0);
}
