// Even–odd filling of a self-crossing curve: crossings of the pixel's row are gathered, sorted and walked.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    const int N = 48;
    float crossings[16];
    int count = 0;
    vec2 before = vec2(0.0, 0.9);
    for (int i = 1; i <= N; i++) {
        float a = 6.28318531 * float(i) / float(N), r = 0.65 + 0.25 * cos(5.0 * a + iTime);
        vec2 now = i == N ? vec2(0.0, 0.9) : r * vec2(sin(3.0 * a), cos(2.0 * a));
        if ((before.y > p.y) != (now.y > p.y) && count < 16) {
            float x = before.x + (p.y - before.y) * (now.x - before.x) / (now.y - before.y);
            int at = count++;
            for (; at > 0 && crossings[at - 1] > x; at--) crossings[at] = crossings[at - 1];
            crossings[at] = x;
        }
        before = now;
    }
    bool inside = false;
    int k = 0;
    while (k < count && crossings[k] < p.x) {
        inside = !inside;
        k++;
    }
    vec3 colour = inside ? mix(vec3(0.9, 0.4, 0.3), vec3(0.9, 0.8, 0.3), 0.5 + 0.5 * p.x) : vec3(0.12, 0.14, 0.2);
    fragColor = vec4(colour + 0.02 * float(count), 1.0);
}
