#version 450
// A ramp of colours that takes as long as it is told to.
// Compiled: glslangValidator -V --target-env vulkan1.1 work.frag -o work.frag.spv
layout(location = 0) out vec4 colour;
layout(set = 0, binding = 0, std140) uniform Block {
    vec4 base;
    vec3 slope;
    uint rounds;
};
void main() {
    vec3 v = base.rgb + slope * gl_FragCoord.x;
    for (uint i = 0; i < rounds; i++) {
        v = fract(v.yzx * 1.7 + v * v * 0.3 + 0.1);
    }
    colour = vec4(v, base.a);
}
