// The dragon curve by following a point down the levels of its two maps: which half is nearer decides, both where it is close.
// SPDX-License-Identifier: MIT OR Apache-2.0
float segment(vec2 p, vec2 a, vec2 b) {
    vec2 e = b - a;
    return length(p - a - e * clamp(dot(p - a, e) / dot(e, e), 0.0, 1.0));
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (fragCoord - vec2(0.32, 0.4) * iResolution.xy) / iResolution.y * 2.0;
    vec2 from[10], to[10];
    int side[10], depth[10], top = 0;
    from[0] = vec2(0.0);
    to[0] = vec2(1.2, 0.0);
    side[0] = 1;
    depth[0] = 0;
    float best = 1e3;
    int steps = 0;
    while (top >= 0 && steps < 200) {
        steps++;
        vec2 a = from[top], b = to[top];
        int s = side[top], level = depth[top];
        top--;
        vec2 half_way = 0.5 * (a + b), e = 0.5 * (b - a);
        // All of a branch lies within 1.2 times its length of its middle.
        if (length(p - half_way) - 2.4 * length(e) > best) continue;
        if (level == 8) {
            best = min(best, segment(p, a, b));
            continue;
        }
        vec2 m = half_way + float(s) * vec2(-e.y, e.x);
        top++;
        from[top] = b; to[top] = m; side[top] = 1; depth[top] = level + 1;
        top++;
        from[top] = a; to[top] = m; side[top] = 1; depth[top] = level + 1;
    }
    vec3 colour = mix(vec3(1.0, 0.75, 0.3), vec3(0.08, 0.1, 0.2), smoothstep(0.004, 0.014, best));
    fragColor = vec4(colour + 0.15 * exp(-9.0 * best) + 0.0015 * float(steps % 64), 1.0);
}
