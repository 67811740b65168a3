// The exterior distance to the Mandelbrot set by the orbit's derivative, lit as a relief, at a seahorse.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 c = vec2(-0.7436, 0.1318) + (0.02 + 0.015 * sin(0.3 * iTime)) * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec2 z = c, d = vec2(1.0, 0.0);
    bool out_of_it = false;
    for (int i = 0; i < 200; i++) {
        d = 2.0 * vec2(z.x * d.x - z.y * d.y, z.x * d.y + z.y * d.x) + vec2(1.0, 0.0);
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        if (dot(z, z) > 1e4) {
            out_of_it = true;
            break;
        }
    }
    vec3 colour = vec3(0.02);
    if (out_of_it) {
        float distance_to = 0.5 * sqrt(dot(z, z) / dot(d, d)) * log(dot(z, z));
        vec2 n = normalize(vec2(dot(z, d), z.y * d.x - z.x * d.y));
        float lit = 0.5 + 0.5 * dot(n, normalize(vec2(1.0, 1.3)));
        colour = mix(vec3(0.1, 0.2, 0.4), vec3(1.0, 0.9, 0.7), lit) * clamp(0.3 + 0.1 * log2(distance_to * 4e3 + 1.0), 0.0, 1.0);
    }
    fragColor = vec4(colour, 1.0);
}
