// Pixel sorting: odd-even transposition of 24 neighbours in a column, as many passes as the column's position says.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int N = 24;
    vec4 v[N];
    float base = floor(fragCoord.y / float(N)) * float(N);
    for (int i = 0; i < N; i++) {
        vec3 c = textureLod(iChannel0, vec2(fragCoord.x, base + float(i)) / iResolution.xy, 0.0).rgb;
        v[i] = vec4(c, dot(c, vec3(0.2, 0.7, 0.1)));
    }
    int passes = int(float(N) * (0.5 + 0.5 * sin(6.2832 * fragCoord.x / iResolution.x + iTime)));
    for (int pass = 0; pass < passes; pass++) {
        bool moved = false;
        for (int i = pass & 1; i + 1 < N; i += 2) {
            if (v[i].w > v[i + 1].w) {
                vec4 t = v[i];
                v[i] = v[i + 1];
                v[i + 1] = t;
                moved = true;
            }
        }
        if (!moved && pass > 1) break;
    }
    fragColor = vec4(v[int(fragCoord.y - base)].rgb, 1.0);
}
