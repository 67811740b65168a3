#version 450
// A quarter of the pixels is discarded, in a function; one in four returns early.
layout(location = 0) out vec4 color;

float body(ivec2 p) {
    if (p.x % 2 == 1 && p.y % 2 == 1) discard;
    return float(p.x + p.y);
}

void main() {
    ivec2 p = ivec2(gl_FragCoord.xy);
    color = vec4(1.0);
    if (p.x % 2 == 0 && p.y % 2 == 0) return;
    float v = body(p);
    color = vec4(v, 0.0, 0.0, 2.0);
}
