// Light shafts: a radial blur towards the sun of what is bright, decaying along the way.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy, sun = vec2(0.5 + 0.3 * cos(0.4 * iTime), 0.6);
    const int SAMPLES = 40;
    vec2 delta = (sun - uv) * 0.8 / float(SAMPLES), at = uv;
    float jitter = fract(sin(dot(fragCoord, vec2(12.9898, 78.233))) * 43758.5453);
    at += delta * jitter;
    float light = 1.0, sum = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        float cloud = texture(iChannel0, 0.5 * at + 0.02 * iTime).r;
        vec2 q = (at - sun) * vec2(iResolution.x / iResolution.y, 1.0);
        float bright = smoothstep(0.55, 0.35, cloud) * exp(-6.0 * dot(q, q));
        sum += bright * light;
        light *= 0.965;
        at += delta;
    }
    vec3 scene = texture(iChannel0, 0.5 * uv + 0.02 * iTime).rrr * vec3(0.3, 0.35, 0.45);
    fragColor = vec4(scene + sum * 0.08 * vec3(1.0, 0.85, 0.6), 1.0);
}
