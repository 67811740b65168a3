// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/Geiss - Mega Swirl 3 (color tweak).json, warp
 shader_body {
  vec4 tmpvar_1;
  tmpvar_1.w = 1.0;
  tmpvar_1.xyz = (texture (sampler_main, uv).xyz * 0.99);
  ret = tmpvar_1.xyz;
 }
