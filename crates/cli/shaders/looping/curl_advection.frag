// Ink carried back along curl noise for a dozen steps, then looked up in a striped picture.
// SPDX-License-Identifier: MIT OR Apache-2.0
float potential(vec2 p) {
    float sum = 0.0, a = 0.5;
    for (int i = 0; i < 4; i++) {
        sum += a * sin(p.x + 1.3 * sin(p.y + iTime * 0.3)) * cos(p.y - 0.7 * p.x);
        p = 1.9 * vec2(0.8 * p.x - 0.6 * p.y, 0.6 * p.x + 0.8 * p.y) + 1.0;
        a *= 0.55;
    }
    return sum;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 4.0 * fragCoord / iResolution.y;
    const float e = 0.02, dt = 0.09;
    for (int s = 0; s < 12; s++) {
        float here = potential(p);
        vec2 v = vec2(potential(p + vec2(0.0, e)) - here, here - potential(p + vec2(e, 0.0))) / e;
        p -= dt * v;
    }
    vec3 ink = texture(iChannel0, 0.1 * p).rgb;
    float stripe = smoothstep(-0.2, 0.2, sin(5.0 * p.x) * sin(5.0 * p.y));
    fragColor = vec4(mix(ink * ink, vec3(0.95, 0.9, 0.8), stripe), 1.0);
}
