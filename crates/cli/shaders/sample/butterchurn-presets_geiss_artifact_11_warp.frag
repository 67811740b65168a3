// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/_Geiss - Artifact 11.json, warp
 shader_body {
  vec4 tmpvar_1;
  tmpvar_1.w = 1.0;
  tmpvar_1.xyz = (max (max (
    max (max (max (texture (sampler_fw_main, uv_orig).xyz, texture (sampler_fw_main, mix (uv_orig, uv, vec2(0.2, 0.2))).xyz), texture (sampler_fw_main, mix (uv_orig, uv, vec2(0.4, 0.4))).xyz), texture (sampler_fw_main, mix (uv_orig, uv, vec2(0.6, 0.6))).xyz)
  , texture (sampler_fw_main,
    mix (uv_orig, uv, vec2(0.8, 0.8))
  ).xyz), texture (sampler_fw_main, uv).xyz) - 0.016);
  ret = tmpvar_1.xyz;
 }
