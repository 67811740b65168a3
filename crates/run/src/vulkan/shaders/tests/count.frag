#version 450
// Two outputs, an input, push constants, and a count of the pixels of each column in a storage buffer.
// Compiled: glslangValidator -V --target-env vulkan1.1 count.frag -o count.frag.spv
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(push_constant) uniform Push { vec2 scale; };
layout(set = 1, binding = 2, std430) buffer Counts { uint counts[]; };
void main() {
    if (gl_FragCoord.y > 2.0) discard;
    atomicAdd(counts[uint(gl_FragCoord.x)], 3u);
    first = vec4(place * scale, 0.0, 1.0);
    second = vec4(gl_FragCoord.xy, 5.0, 7.0);
}
