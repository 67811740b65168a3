// Which numbers pass Fermat's test for how many bases: powers modulo n by squaring, modular products by doubling.
// SPDX-License-Identifier: MIT OR Apache-2.0
uint mul_mod(uint a, uint b, uint m) {
    uint sum = 0u;
    a %= m;
    while (b > 0u) {
        if ((b & 1u) == 1u) sum = (sum + a) % m;
        a = (a << 1) % m;
        b >>= 1;
    }
    return sum;
}

uint pow_mod(uint base, uint e, uint m) {
    uint result = 1u;
    for (; e > 0u; e >>= 1) {
        if ((e & 1u) != 0u) result = mul_mod(result, base, m);
        base = mul_mod(base, base, m);
    }
    return result;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    uvec2 p = uvec2(fragCoord) / 8u;
    uint n = 3u + p.x + 64u * p.y + uint(iFrame);
    int passed = 0;
    for (uint base = 2u; base < 5u; base++) {
        if (n % base == 0u || pow_mod(base, n - 1u, n) != 1u) break;
        passed++;
    }
    fragColor = vec4(float(passed) / 3.0, float(n % 16u) / 32.0, passed == 3 ? 0.8 : 0.2, 1.0);
}
