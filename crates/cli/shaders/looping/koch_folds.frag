// A Koch snowflake by folds of the plane; the distance shades rings around it.
// SPDX-License-Identifier: MIT OR Apache-2.0
vec2 along(float a) { return vec2(sin(a), cos(a)); }

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = 1.25 * (fragCoord - 0.5 * iResolution.xy) / iResolution.y;
    uv.x = abs(uv.x);
    uv.y += tan(5.0 / 6.0 * 3.14159) * 0.5;
    vec2 n = along(5.0 / 6.0 * 3.14159);
    float d = dot(uv - vec2(0.5, 0.0), n);
    uv -= max(0.0, d) * n * 2.0;
    n = along(2.0 / 3.0 * 3.14159);
    float scale = 1.0;
    uv.x += 0.5;
    int levels = 3 + int(3.0 + 2.9 * sin(iTime));
    for (int i = 0; i < levels; i++) {
        uv *= 3.0;
        scale *= 3.0;
        uv.x -= 1.5;
        uv.x = abs(uv.x) - 0.5;
        uv -= min(0.0, dot(uv, n)) * n * 2.0;
    }
    d = length(uv - vec2(clamp(uv.x, -1.0, 1.0), 0.0)) / scale;
    fragColor = vec4(mix(vec3(1.0), 0.4 + 0.3 * cos(40.0 * d + vec3(0.0, 1.0, 2.0)), smoothstep(0.0, 0.006, d)), 1.0);
}
