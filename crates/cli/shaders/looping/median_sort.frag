// A 5 × 5 median: the window's luminances are sorted by insertion in a local array, and the middle one is kept with its colour.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 pixel = 1.0 / iResolution.xy;
    float key[25];
    vec3 value[25];
    int count = 0;
    for (int y = -2; y <= 2; y++) {
        for (int x = -2; x <= 2; x++) {
            vec3 c = texture(iChannel0, (fragCoord + vec2(x, y)) * pixel).rgb;
            float l = dot(c, vec3(0.299, 0.587, 0.114));
            int at = count;
            while (at > 0 && key[at - 1] > l) {
                key[at] = key[at - 1];
                value[at] = value[at - 1];
                at--;
            }
            key[at] = l;
            value[at] = c;
            count++;
        }
    }
    fragColor = vec4(value[12], 1.0);
}
