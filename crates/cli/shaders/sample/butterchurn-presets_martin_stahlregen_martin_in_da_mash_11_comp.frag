// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/martin + stahlregen - martin in da mash 11.json, comp
vec2 xlat_mutabledz;
vec3 xlat_mutableret1;
vec2 xlat_mutableuv3;
vec2 xlat_mutableuv4;
 shader_body {
  vec2 uv_1;
  float inten_3;
  float dist_4;
  vec3 ret_5;
  uv_1 = (uv - 0.5);
  xlat_mutabledz = vec2(0.0, 0.0);
  dist_4 = 1.0;
  inten_3 = 1.0;
  xlat_mutableret1 = vec3(0.0, 0.0, 0.0);
  for (float n_2 = 0.0; n_2 <= 4.0; n_2 += 1.0) {
    dist_4 = (1.0 - fract((
      (0.2 * n_2)
     +
      (time / 4.0)
    )));
    inten_3 = ((sqrt(dist_4) * (1.0 - dist_4)) * 2.0);
    vec2 tmpvar_6;
    tmpvar_6.y = 0.0;
    tmpvar_6.x = (time / 8.0);
    xlat_mutableuv3 = (((
      (2.0 * uv_1)
     * dist_4) + 0.4) + tmpvar_6);
    vec2 tmpvar_7;
    tmpvar_7.y = 0.0;
    tmpvar_7.x = texsize.z;
    vec2 tmpvar_8;
    tmpvar_8.y = 0.0;
    tmpvar_8.x = texsize.z;
    xlat_mutabledz.x = (xlat_mutabledz.x + (inten_3 * dot (
      (texture (sampler_main, (xlat_mutableuv3 + tmpvar_7)).xyz - texture (sampler_main, (xlat_mutableuv3 - tmpvar_8)).xyz)
    , vec3(0.32, 0.49, 0.29))));
    vec2 tmpvar_9;
    tmpvar_9.x = 0.0;
    tmpvar_9.y = texsize.w;
    vec2 tmpvar_10;
    tmpvar_10.x = 0.0;
    tmpvar_10.y = texsize.w;
    xlat_mutabledz.y = (xlat_mutabledz.y + (inten_3 * dot (
      (texture (sampler_main, (xlat_mutableuv3 + tmpvar_9)).xyz - texture (sampler_main, (xlat_mutableuv3 - tmpvar_10)).xyz)
    , vec3(0.32, 0.49, 0.29))));
    xlat_mutableret1 = max (xlat_mutableret1, (texture (sampler_main, xlat_mutableuv3).xyz * inten_3));
  };
  uv_1 = (uv_1 + (xlat_mutabledz * 14.0));
  xlat_mutableuv4 = (uv_1 - vec2(0.2, -0.1));
  float tmpvar_11;
  tmpvar_11 = (0.5 * clamp ((1.0/(
    (abs(uv_1.y) + 0.1)
  )), 0.0, 12.0));
  vec2 tmpvar_12;
  tmpvar_12.x = (uv_1.x * tmpvar_11);
  tmpvar_12.y = tmpvar_11;
  vec3 tmpvar_13;
  tmpvar_13.xy = vec2(0.0, 0.0);
  tmpvar_13.z = clamp ((1.0 - (3.0 * uv_1.y)), 0.0, 1.0);
  ret_5 = (vec3(0.0, 0.1, 0.1) + (0.1 * tmpvar_13));
  ret_5 = (ret_5 + (vec3(dot (texture (sampler_noise_hq,
    (tmpvar_12 + (0.04 * time))
  ), vec4(0.32, 0.49, 0.29, 0.0))) * (
    (clamp ((1.0 - (12.0 * uv_1.y)), 0.0, 1.0) * 0.1)
   /
    (0.03 + sqrt(dot (xlat_mutableuv4, xlat_mutableuv4)))
  )));
  ret_5 = (ret_5 + ((0.4 * xlat_mutableret1) + (
    (0.25 * q22)
   * xlat_mutableret1)));
  vec4 tmpvar_14;
  tmpvar_14.w = 1.0;
  tmpvar_14.xyz = ret_5;
  ret = tmpvar_14.xyz;
 }
