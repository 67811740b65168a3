// The spectrum of the texture's rows: for each column of the frame one frequency's power by a direct sum with a rotating phasor.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    const int N = 64;
    vec2 uv = fragCoord / iResolution.xy;
    float k = floor(uv.x * float(N) * 0.5);
    float angle = -6.28318531 * k / float(N);
    vec2 turn = vec2(cos(angle), sin(angle)), w = vec2(1.0, 0.0), sum = vec2(0.0);
    for (int n = 0; n < N; n++) {
        float window = 0.5 - 0.5 * cos(6.28318531 * (float(n) + 0.5) / float(N));
        float x = window * (textureLod(iChannel0, vec2((float(n) + 0.5) / float(N), uv.y + 0.02 * iTime), 0.0).r - 0.5);
        sum += x * w;
        w = vec2(w.x * turn.x - w.y * turn.y, w.x * turn.y + w.y * turn.x);
    }
    float power = log(1.0 + 20.0 * dot(sum, sum)) * 0.4;
    fragColor = vec4(power * vec3(1.0, 0.6, 0.2) + vec3(0.0, 0.1, 0.2) * power * power, 1.0);
}
