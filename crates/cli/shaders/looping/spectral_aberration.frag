// Chromatic aberration with a spectrum of sixteen wavelengths, each with its own distortion and colour.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec3 response(float w) {
    vec3 d = (vec3(w) - vec3(0.78, 0.5, 0.22)) / vec3(0.2, 0.17, 0.16);
    return exp(-d * d);
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = fragCoord / iResolution.xy - 0.5;
    float r2 = dot(uv, uv);
    vec3 sum = vec3(0.0), total = vec3(0.0);
    for (int i = 0; i < 16; i++) {
        float w = (float(i) + 0.5) / 16.0;
        float k = mix(-0.15, 0.35, w) * (1.0 + 0.3 * sin(iTime));
        vec2 at = uv * (1.0 + k * r2 + 0.4 * k * r2 * r2) + 0.5;
        vec3 c = response(w);
        sum += c * texture(iChannel0, at).rgb;
        total += c;
    }
    fragColor = vec4(sum / total * (1.0 - 1.1 * r2), 1.0);
}
