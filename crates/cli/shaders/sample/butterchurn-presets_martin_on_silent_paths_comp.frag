// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/martin - on silent paths.json, comp
float xlat_mutablecover;
float xlat_mutabledist;
float xlat_mutabledist2;
float xlat_mutableinten;
float xlat_mutablen;
vec3 xlat_mutableneu;
vec3 xlat_mutableret1;
vec2 xlat_mutableuv2;
vec2 xlat_mutableuv5;
 shader_body {
  vec2 uv_1;
  vec3 clouds_2;
  vec2 sunpos_3;
  vec3 ret_4;
  vec2 tmpvar_5;
  tmpvar_5.y = -0.6;
  tmpvar_5.x = (rand_preset.x - 0.5);
  sunpos_3 = tmpvar_5;
  uv_1 = (uv - 0.5);
  uv_1 = (uv_1 * aspect.xy);
  uv_1.x = uv_1.x;
  clouds_2 = ((clamp (
    (uv.y * uv.y)
  , 0.0, 1.0) * (1.0 + rand_preset)).xyz + ((
    clamp ((1.0 - uv.y), 0.0, 1.0)
   *
    (1.0 + (rand_preset * slow_roam_cos))
  ) / 2.0).xyz);
  xlat_mutablecover = 0.0;
  xlat_mutableret1 = vec3(0.0, 0.0, 0.0);
  xlat_mutablen = 1.0;
  while (true) {
    if ((xlat_mutablen > 6.0)) {
      break;
    };
    xlat_mutabledist = (1.0 - fract((
      (xlat_mutablen / 6.0)
     +
      (0.02 * time)
    )));
    xlat_mutabledist2 = (1.0 - fract((
      (xlat_mutablen / 6.0)
     +
      (0.01 * time)
    )));
    xlat_mutableinten = ((1.0 - xlat_mutabledist) * 2.0);
    xlat_mutableuv2.y = (uv_1.y - (0.2 * rand_preset.y));
    xlat_mutableuv2.x = (uv_1.x + ((rand_preset.z - 0.5) / 2.0));
    vec2 tmpvar_6;
    tmpvar_6.x = 0.5;
    tmpvar_6.y = ((0.25 + q10) + (0.1 * rand_preset.x));
    xlat_mutableuv2 = (((
      (1.0 + (2.0 * rand_preset.x))
     * xlat_mutabledist) * xlat_mutableuv2) - tmpvar_6);
    vec2 tmpvar_7;
    tmpvar_7 = fract(xlat_mutableuv2);
    xlat_mutableuv5 = ((normalize(
      (uv_1 - sunpos_3)
    ) * 0.2) + sunpos_3);
    xlat_mutablecover = (xlat_mutablecover + dot ((
      (texture (sampler_blur1, fract(((2.0 * xlat_mutableuv5) * xlat_mutabledist2))).xyz * scale1)
     + bias1), vec3(0.32, 0.49, 0.29)));
    xlat_mutableneu = ((texture (sampler_main, tmpvar_7).xyz + (
      (texture (sampler_blur1, tmpvar_7).xyz * scale1)
     + bias1)) / 4.0);
    xlat_mutableret1 = (xlat_mutableret1 + (xlat_mutableneu * xlat_mutableinten));
    xlat_mutablen += 1.0;
  };
  float tmpvar_8;
  tmpvar_8 = clamp ((xlat_mutablecover * 2.0), 0.0, 1.0);
  ret_4 = (clamp (clouds_2, 0.0, 1.0) * ((0.4 +
    ((vec3(tmpvar_8) * vec3(tmpvar_8)) * 0.8)
  ) * 1.5));
  ret_4 = (ret_4 * clamp ((1.0 -
    (xlat_mutableret1.x * 4.0)
  ), 0.0, 1.0));
  ret_4 = (ret_4 + ((
    ((vec3(tmpvar_8) * 0.1) * rand_preset.x)
   *
    (1.0 + rand_preset)
  .xyz) * (uv_1.y + 0.5)));
  vec4 tmpvar_9;
  tmpvar_9.w = 1.0;
  tmpvar_9.xyz = ret_4;
  ret = tmpvar_9.xyz;
 }
