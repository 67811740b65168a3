// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/_Geiss - Desert Rose 2.json, comp
 shader_body {
  vec4 tmpvar_1;
  tmpvar_1.w = 1.0;
  tmpvar_1.xyz = (texture (sampler_main, uv).xyz * 1.15);
  ret = tmpvar_1.xyz;
 }
