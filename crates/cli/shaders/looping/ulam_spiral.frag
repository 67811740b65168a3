// Ulam's spiral: the number at a place by closed form, tested for primality by trial division over 6k ± 1.
// SPDX-License-Identifier: MIT OR Apache-2.0
bool prime(int n) {
    if (n < 4) return n > 1;
    if (n % 2 == 0 || n % 3 == 0) return false;
    for (int d = 5; d * d <= n; d += 6)
        if (n % d == 0 || n % (d + 2) == 0) return false;
    return true;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    ivec2 p = ivec2(floor((fragCoord - 0.5 * iResolution.xy) / 2.0));
    int ring = max(abs(p.x), abs(p.y)), side = 2 * ring + 1, last = side * side, n;
    if (p.y == -ring) n = last - (ring - p.x);
    else if (p.x == -ring) n = last - 2 * ring - (p.y + ring);
    else if (p.y == ring) n = last - 4 * ring - (p.x + ring);
    else n = last - 6 * ring - (ring - p.y);
    n += 40 + int(iTime);
    fragColor = vec4(prime(n) ? vec3(1.0, 0.9, 0.6) : vec3(0.05, 0.07, 0.12) + 0.1 * float(n % 7 == 0), 1.0);
}
