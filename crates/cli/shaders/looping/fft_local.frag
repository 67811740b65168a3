// A radix-2 FFT of sixteen texels in a local array: bit reversal, then butterflies in three nested loops.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 a[16];
    float row = fragCoord.y / iResolution.y, start = floor(fragCoord.x / 16.0) * 16.0;
    for (int i = 0; i < 16; i++) {
        int r = 0;
        for (int b = 0; b < 4; b++) r |= ((i >> b) & 1) << (3 - b);
        a[r] = vec2(textureLod(iChannel0, vec2((start + float(i)) / iResolution.x, row + 0.02 * iTime), 0.0).r - 0.5, 0.0);
    }
    for (int size = 2; size <= 16; size *= 2) {
        float angle = -6.28318531 / float(size);
        for (int base = 0; base < 16; base += size) {
            for (int k = 0; k < size / 2; k++) {
                vec2 w = vec2(cos(angle * float(k)), sin(angle * float(k)));
                vec2 odd = a[base + k + size / 2], even = a[base + k];
                odd = vec2(odd.x * w.x - odd.y * w.y, odd.x * w.y + odd.y * w.x);
                a[base + k] = even + odd;
                a[base + k + size / 2] = even - odd;
            }
        }
    }
    vec2 mine = a[int(fragCoord.x) & 15];
    float power = log(1.0 + 60.0 * dot(mine, mine)) * 0.4;
    fragColor = vec4(power, power * power, 0.5 + 0.5 * sin(atan(mine.y, mine.x + 1e-6)), 1.0);
}
