#version 450
// Pixels of a quad part in a loop, a switch and a call that returns early; then derivatives need all of them.
layout(location = 0) out vec4 color;

float part(int n) {
    float v = 0.0;
    for (int i = 0; i < 40; i++) {
        if (i > n) return v;
        v += float(i);
    }
    return -1.0;
}

void main() {
    ivec2 p = ivec2(gl_FragCoord.xy);
    float v = 0.0;
    for (int i = 0; i < p.x * p.y; i++) {
        if (i % 3 == p.x % 3) continue;
        v += 1.0;
        if (v > 9.0) break;
    }
    float after = dFdx(v);
    float w;
    switch (p.x) {
    case 0: w = 5.0; break;
    case 3: w = 7.0;
    default: w = part(p.x + p.y);
    }
    color = vec4(after, dFdy(v), dFdx(w), dFdy(part(p.y * 9)));
}
