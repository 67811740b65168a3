// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/martin - violet flash.json, comp
vec3 xlat_mutableret1;
 shader_body {
  vec2 uv_1;
  float inten_2;
  float dist_3;
  vec2 uv2_4;
  uv_1 = (uv - 0.5);
  uv_1 = (uv_1 * aspect.xy);
  uv2_4.x = ((uv_1.x * 0.5) - (uv_1.y * -0.5));
  uv2_4.y = ((uv_1.x * -0.5) + (uv_1.y * 0.5));
  uv2_4 = (uv2_4 * aspect.yx);
  dist_3 = (1.0 - fract((0.25 + q31)));
  inten_2 = ((2.0 * sqrt(dist_3)) * (1.0 - (dist_3 * dist_3)));
  xlat_mutableret1 = max (vec3(0.0, 0.0, 0.0), (texture (sampler_main, (
    ((2.0 * uv2_4) * dist_3)
   + q32)).xyz * inten_2));
  uv2_4.x = ((uv_1.x * -0.5) - (uv_1.y * 0.5));
  uv2_4.y = ((uv_1.x * 0.5) + (uv_1.y * -0.5));
  uv2_4 = (uv2_4 * aspect.yx);
  dist_3 = (1.0 - fract((0.5 + q31)));
  inten_2 = ((2.0 * sqrt(dist_3)) * (1.0 - (dist_3 * dist_3)));
  xlat_mutableret1 = max (xlat_mutableret1, (texture (sampler_main, (
    ((2.0 * uv2_4) * dist_3)
   + q32)).xyz * inten_2));
  uv2_4.x = ((uv_1.x * 0.5) - (uv_1.y * -0.5));
  uv2_4.y = ((uv_1.x * -0.5) + (uv_1.y * 0.5));
  uv2_4 = (uv2_4 * aspect.yx);
  dist_3 = (1.0 - fract((0.75 + q31)));
  inten_2 = ((2.0 * sqrt(dist_3)) * (1.0 - (dist_3 * dist_3)));
  xlat_mutableret1 = max (xlat_mutableret1, (texture (sampler_main, (
    ((2.0 * uv2_4) * dist_3)
   + q32)).xyz * inten_2));
  uv2_4.x = ((uv_1.x * -0.5) - (uv_1.y * 0.5));
  uv2_4.y = ((uv_1.x * 0.5) + (uv_1.y * -0.5));
  uv2_4 = (uv2_4 * aspect.yx);
  dist_3 = (1.0 - fract((1.0 + q31)));
  inten_2 = ((2.0 * sqrt(dist_3)) * (1.0 - (dist_3 * dist_3)));
  xlat_mutableret1 = max (xlat_mutableret1, (texture (sampler_main, (
    ((2.0 * uv2_4) * dist_3)
   + q32)).xyz * inten_2));
  vec4 tmpvar_5;
  tmpvar_5.w = 1.0;
  tmpvar_5.xyz = (xlat_mutableret1 * 1.6);
  ret = tmpvar_5.xyz;
 }
