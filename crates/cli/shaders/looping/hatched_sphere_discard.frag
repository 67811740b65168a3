// Screen-door transparency: shells of a ball whose holes are discarded, gone through from front to back.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 o = vec3(0.0, 0.0, 3.0), d = normalize(vec3(uv, -1.5)), colour = vec3(0.0);
    bool any_shell = false;
    for (int shell = 0; shell < 6 && !any_shell; shell++) {
        float radius = 1.6 - 0.16 * float(shell), b = dot(o, d), h = b * b - dot(o, o) + radius * radius;
        if (h < 0.0) break;
        for (int side = 0; side < 2; side++) {
            vec3 n = (o + (-b + (side == 0 ? -1.0 : 1.0) * sqrt(h)) * d) / radius;
            float u = atan(n.z, n.x) + iTime * (0.2 + 0.1 * float(shell)), v = acos(clamp(n.y, -1.0, 1.0));
            if (sin(8.0 * u) * sin(6.0 * v) < 0.45) continue;
            colour = (0.5 + 0.5 * cos(float(shell) + vec3(0.0, 2.0, 4.0))) * (0.3 + 0.7 * abs(dot(n, d)));
            any_shell = true;
            break;
        }
    }
    if (!any_shell && dot(uv, uv) > 2.2) discard;
    fragColor = vec4(any_shell ? colour : vec3(0.05 + 0.03 * uv.y), 1.0);
}
