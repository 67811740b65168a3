#version 450
// One triangle that covers the frame, with a place in it for shaders that want inputs.
// Compiled: glslangValidator -V --target-env vulkan1.1 varyings.vert -o varyings.vert.spv
layout(location = 0) out vec4 place[15];
void main() {
    vec2 corner = vec2(float(gl_VertexIndex & 1), float(gl_VertexIndex >> 1));
    gl_Position = vec4(4.0 * corner - 1.0, 0.0, 1.0);
    for (int i = 0; i < 15; i++) {
        place[i] = vec4(2.0 * corner, 0.0, 1.0);
    }
}
