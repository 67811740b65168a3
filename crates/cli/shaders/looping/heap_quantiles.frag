// Quantiles of a window by a binary heap: sift-down loops with data-dependent depth, popped to the wanted rank.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int N = 25;
    float heap[N];
    for (int i = 0; i < N; i++) heap[i] = textureLod(iChannel0, (fragCoord + 2.0 * vec2(i % 5 - 2, i / 5 - 2)) / iResolution.xy, 0.0).g;
    for (int start = N / 2 - 1; start >= 0; start--) {
        int root = start;
        while (2 * root + 1 < N) {
            int child = 2 * root + 1;
            if (child + 1 < N && heap[child + 1] > heap[child]) child++;
            if (heap[root] >= heap[child]) break;
            float t = heap[root];
            heap[root] = heap[child];
            heap[child] = t;
            root = child;
        }
    }
    int pops = int(20.0 * fragCoord.x / iResolution.x), size = N;
    for (int k = 0; k < pops; k++) {
        heap[0] = heap[--size];
        int root = 0;
        while (2 * root + 1 < size) {
            int child = 2 * root + 1;
            if (child + 1 < size && heap[child + 1] > heap[child]) child++;
            if (heap[root] >= heap[child]) break;
            float t = heap[root];
            heap[root] = heap[child];
            heap[child] = t;
            root = child;
        }
    }
    fragColor = vec4(mix(vec3(0.1, 0.1, 0.3), vec3(1.0, 0.9, 0.7), smoothstep(0.2, 0.8, heap[0])), 1.0);
}
