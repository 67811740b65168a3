// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/flexi - predator-prey seminar paper visualization [05 mathematical biology concepts - reaction-diffusion on predator-prey spirals].json, warp
 shader_body {
  vec2 uv_1;
  vec3 ret_2;
  vec2 tmpvar_3;
  tmpvar_3 = (texsize.zw * 12.0);
  vec2 tmpvar_4;
  tmpvar_4.x = (0.5 * ((2.0 *
    ((texture (sampler_blur2, (uv + (vec2(1.0, 0.0) * tmpvar_3))).xyz * scale2) + bias2)
  ) - (2.0 *
    ((texture (sampler_blur2, (uv - (vec2(1.0, 0.0) * tmpvar_3))).xyz * scale2) + bias2)
  ))).z;
  tmpvar_4.y = (0.5 * ((2.0 *
    ((texture (sampler_blur2, (uv + (vec2(0.0, 1.0) * tmpvar_3))).xyz * scale2) + bias2)
  ) - (2.0 *
    ((texture (sampler_blur2, (uv - (vec2(0.0, 1.0) * tmpvar_3))).xyz * scale2) + bias2)
  ))).z;
  uv_1 = (uv - (tmpvar_4 * texsize.zw));
  ret_2.z = ((texture (sampler_main, uv_1).z + (
    (texture (sampler_main, uv_1).z - ((texture (sampler_blur3, uv_1).xyz * scale3) + bias3))
  .z * 0.12)) + 0.008);
  vec4 tmpvar_5;
  tmpvar_5.w = 1.0;
  tmpvar_5.xyz = ret_2;
  ret = tmpvar_5.xyz;
 }
