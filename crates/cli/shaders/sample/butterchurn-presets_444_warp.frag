// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/444.json, warp
 shader_body {
  vec3 ret_1;
  ret_1 = (texture (sampler_main, uv).xyz * 0.85);
  ret_1 = (ret_1 - 0.022);
  vec4 tmpvar_2;
  tmpvar_2.w = 1.0;
  tmpvar_2.xyz = ret_1;
  ret = tmpvar_2.xyz;
 }
