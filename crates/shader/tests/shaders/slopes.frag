#version 450
// Derivatives, a demotion's cousin, and variables that pointers lead to.
layout(location = 0) out vec4 color;
layout(location = 2) in vec2 across;
layout(location = 5) flat in int which;

struct Pair {
    vec2 a[3];
    float b;
};

void turn(inout Pair p, out float last, in int i) {
    p.a[i].y += 1.0;
    p.b *= 2.0;
    last = p.a[i].x;
}

void main() {
    vec2 p = gl_FragCoord.xy;
    Pair pair = Pair(vec2[3](p, p * 2.0, p * 3.0), 0.5);
    float last;
    turn(pair, last, int(p.x) % 3);
    turn(pair, last, which);
    vec2 w = vec2[](vec2(1.0, 2.0), vec2(3.0, 4.0))[int(p.y) & 1];
    color = vec4(dFdx(p.x * p.x + p.y), dFdy(p.y * 3.0), fwidth(across.x), pair.a[which].y + pair.b + last + w.x * across.y);
}
