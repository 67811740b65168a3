// The Mandelbrot set with smooth iteration counts, and the cardioid and the disc tested first.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    float zoom = 1.3 * exp(-0.3 * (1.0 + sin(0.3 * iTime)));
    vec2 c = vec2(-0.65, 0.0) + zoom * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float q = (c.x - 0.25) * (c.x - 0.25) + c.y * c.y;
    float n = 0.0;
    const float LIMIT = 256.0;
    vec2 z = vec2(0.0);
    if (q * (q + c.x - 0.25) < 0.25 * c.y * c.y || (c.x + 1.0) * (c.x + 1.0) + c.y * c.y < 0.0625) {
        n = LIMIT;
    } else {
        for (; n < LIMIT; n += 1.0) {
            z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
            if (dot(z, z) > 256.0) break;
        }
    }
    vec3 colour = vec3(0.05, 0.0, 0.1);
    if (n < LIMIT) {
        float s = n - log2(log2(dot(z, z))) + 4.0;
        colour = 0.5 + 0.5 * cos(3.0 + 0.15 * s + vec3(0.0, 0.6, 1.0));
    }
    fragColor = vec4(colour, 1.0);
}
