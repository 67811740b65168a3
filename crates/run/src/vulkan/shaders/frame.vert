#version 450
// One triangle that covers the frame. Compiled: glslangValidator -V --target-env vulkan1.1 frame.vert -o frame.vert.spv
void main() {
    vec2 corner = vec2(float(gl_VertexIndex & 1), float(gl_VertexIndex >> 1));
    gl_Position = vec4(4.0 * corner - 1.0, 0.0, 1.0);
}
