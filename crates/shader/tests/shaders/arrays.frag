#version 450
#extension GL_EXT_shader_16bit_storage : require
// An array of uniform blocks, of which each has a buffer, and numbers of 16 bits among its members.
layout(location = 0) out vec4 color;

layout(set = 0, binding = 2, std140) uniform Lamp {
    vec3 tint;
    float16_t power;
    int16_t counts[2];
    mat2 turn;
} lamps[3];

void main() {
    int which = int(gl_FragCoord.x);
    vec4 v = vec4(lamps[0].tint, float(lamps[0].power));
    if (which == 1) v = vec4(lamps[1].tint, float(lamps[1].power));
    if (which == 2) v = vec4(lamps[2].tint, float(lamps[2].power));
    if (which == 3) v = vec4(int(lamps[0].counts[0]), int(lamps[1].counts[1]), int(lamps[2].counts[0]), lamps[1].turn[1].x);
    color = v;
}
