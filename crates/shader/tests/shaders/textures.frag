#version 450
// Every way to read a texture, one a pixel.
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D flat2;
layout(set = 0, binding = 1) uniform sampler3D solid;
layout(set = 0, binding = 2) uniform samplerCube sky;
layout(set = 0, binding = 3) uniform sampler2D several[2];
layout(set = 0, binding = 4) uniform sampler2D small;

void main() {
    int which = int(gl_FragCoord.x) + 8 * int(gl_FragCoord.y);
    vec2 uv = gl_FragCoord.xy / vec2(8.0, 2.0);
    // Where all pixels of a quad go, as derivatives need it.
    vec4 implicit = texture(flat2, uv * 2.0);
    vec2 levels = textureQueryLod(flat2, uv * 8.0);
    vec4 v = vec4(0.0);
    if (which == 0) v = textureLod(flat2, vec2(0.25, 0.75), 0.0);
    if (which == 1) v = textureLod(flat2, vec2(0.5), 0.0);
    if (which == 2) v = texelFetch(flat2, ivec2(3, 1), 0);
    if (which == 3) v = textureLod(flat2, vec2(-0.125, 1.125), 0.0);
    if (which == 4) v = textureLod(solid, vec3(0.5), 0.0);
    if (which == 5) v = textureLod(sky, vec3(0.1, -0.9, 0.2), 0.0);
    if (which == 6) v = textureLod(sky, vec3(1.0, 1.0, 0.0), 0.0);
    if (which == 7) v = textureLod(several[1], vec2(0.5), 0.0);
    if (which == 8) v = vec4(textureSize(flat2, 0), textureQueryLevels(flat2), textureSize(solid, 0).z);
    if (which == 9) v = textureGather(flat2, vec2(0.5), 0);
    if (which == 10) v = textureLod(flat2, vec2(0.5), 1.5);
    if (which == 11) v = textureGrad(flat2, vec2(0.5), vec2(0.5, 0.0), vec2(0.0, 0.25));
    if (which == 12) v = implicit;
    if (which == 13) v = textureProjLod(flat2, vec3(0.5, 1.5, 2.0), 0.0);
    if (which == 14) v = textureLodOffset(small, vec2(0.25, 0.25), 0.0, ivec2(1, 0));
    if (which == 15) v = vec4(levels, 0.0, 0.0);
    color = v;
}
