// A plane through the Mandelbox: box fold and sphere fold until escape, coloured by the escape and by how often each fold acted.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 c = vec3(4.0 * uv, 0.5 * sin(0.2 * iTime));
    vec3 z = c;
    float scale = -1.7, dr = 1.0;
    ivec2 folds = ivec2(0);
    int n = 0;
    do {
        vec3 inside = clamp(z, -1.0, 1.0);
        folds.x += int(any(notEqual(inside, z)));
        z = 2.0 * inside - z;
        float r2 = dot(z, z);
        if (r2 < 0.25) {
            z *= 4.0;
            dr *= 4.0;
            folds.y++;
        } else if (r2 < 1.0) {
            z /= r2;
            dr /= r2;
            folds.y++;
        }
        z = scale * z + c;
        dr = dr * abs(scale) + 1.0;
        n++;
    } while (n < 40 && dot(z, z) < 400.0);
    float d = length(z) / abs(dr);
    vec3 colour = 0.5 + 0.5 * cos(0.35 * vec3(float(folds.x), float(folds.y), float(n)) + vec3(0.0, 1.0, 2.0));
    fragColor = vec4(colour * smoothstep(0.0, 0.02, d + 0.3 * float(n == 40)), 1.0);
}
