// Lattice points visible from the origin: Euclid's algorithm on the pixel's coordinates; the quotients of the division make the shade.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    ivec2 p = ivec2(fragCoord) / 3 + 1 + int(2.0 * iTime);
    int a = p.x, b = p.y, steps = 0, sum = 0;
    while (b != 0) {
        int q = a / b, r = a - q * b;
        a = b;
        b = r;
        sum += q;
        steps++;
    }
    float visible = a == 1 ? 1.0 : 0.25;
    fragColor = vec4(visible * vec3(float(steps) / 10.0, 1.0 / (1.0 + 0.1 * float(sum)), 0.6), 1.0);
}
