// A small virtual machine in every pixel: a program of twelve instructions chosen by the tile runs on a stack until it halts.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    uvec2 tile = uvec2(fragCoord) / 96u;
    uint seed = (tile.x * 7u + tile.y * 13u + 5u) * 2654435761u;
    int code[12];
    for (int i = 0; i < 12; i++) {
        seed = seed * 1664525u + 1013904223u;
        code[i] = int(seed >> 24) % 8;
    }
    float stack[8];
    for (int i = 0; i < 8; i++) stack[i] = 0.3 * float(i);
    int top = 1, at = 0, loops = 3;
    stack[0] = uv.x;
    stack[1] = uv.y;
    for (int tick = 0; tick < 64; tick++) {
        int op = code[at++];
        float a = stack[top], b = stack[max(top - 1, 0)];
        switch (op) {
        case 0: top = min(top + 1, 7); stack[top] = uv.x; break;
        case 1: top = min(top + 1, 7); stack[top] = uv.y + 0.1 * sin(iTime); break;
        case 2: top = max(top - 1, 0); stack[top] = a + b; break;
        case 3: top = max(top - 1, 0); stack[top] = a * b; break;
        case 4: stack[top] = sin(3.0 * a); break;
        case 5: stack[top] = abs(a) - 0.5; break;
        case 6: stack[top] = fract(a); break;
        default:
            if (a < 0.5 && loops > 0) {
                at = 0;
                loops--;
            }
        }
        if (at == 12) break;
    }
    fragColor = vec4(0.5 + 0.5 * sin(vec3(stack[top], stack[max(top - 1, 0)], stack[0]) * 3.0 + vec3(0.0, 1.0, 2.0)), 1.0);
}
