#version 450
// A std140 block with everything that has padding.
layout(location = 0) out vec4 color;

struct Light {
    vec3 place;
    float power;
    vec2 spread;
};

layout(set = 1, binding = 3, std140) uniform Block {
    float a;
    vec3 b;
    mat3 m;
    layout(row_major) mat2x3 r;
    float list[3];
    Light lights[2];
    int count;
    bool on;
};

void main() {
    ivec2 p = ivec2(gl_FragCoord.xy);
    int which = p.y * 4 + p.x;
    vec4 v = vec4(0.0);
    if (which == 0) v = vec4(a, b);
    if (which == 1) v = vec4(m[0], m[1].x);
    if (which == 2) v = vec4(m * vec3(1.0, 2.0, 3.0), 0.0);
    if (which == 3) v = vec4(r[0], r[1].z);
    if (which == 4) v = vec4(list[0], list[1], list[2], list[p.x + 1]);
    if (which == 5) v = vec4(lights[1].place, lights[p.x].power);
    if (which == 6) v = vec4(lights[0].spread, float(count), on ? 1.0 : 0.0);
    if (which == 7) {
        Light copy = lights[p.x / 3];
        copy.place.y += 0.5;
        v = vec4(copy.place, copy.spread.y);
    }
    color = v;
}
