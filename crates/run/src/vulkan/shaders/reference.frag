#version 450
// The work that measurements are compared with: arithmetic alone, the same for every pixel.
// Compiled: glslangValidator -V --target-env vulkan1.1 reference.frag -o reference.frag.spv
layout(location = 0) out vec4 colour;
void main() {
    vec3 v = vec3(gl_FragCoord.xy / 256.0, 0.5);
    for (int i = 0; i < 64; i++) {
        v = fract(v.yzx * 1.7 + v * v * 0.3 + 0.1);
    }
    colour = vec4(v, 1.0);
}
