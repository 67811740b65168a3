// A Julia set with orbit traps: the least distance of the orbit to a circle, a cross and a point.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 z = 1.4 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    float a = 0.3 * iTime;
    vec2 c = 0.7885 * vec2(cos(2.2 + a), sin(2.2 + a));
    vec3 trap = vec3(1e3);
    int n = 0;
    while (n < 64 && dot(z, z) < 16.0) {
        z = mat2(z.x, z.y, -z.y, z.x) * z + c;
        trap = min(trap, vec3(abs(length(z) - 0.6), min(abs(z.x), abs(z.y)), length(z - vec2(0.3, 0.4))));
        n++;
    }
    vec3 colour = exp(-vec3(9.0, 14.0, 5.0) * trap);
    fragColor = vec4(colour + 0.1 * float(n) / 64.0, 1.0);
}
