// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/martin - invasion.json, comp
vec2 xlat_mutablers0;
vec3 xlat_mutablesun;
vec2 xlat_mutableuv1;
vec2 xlat_mutableuv5;
vec2 xlat_mutableuv_wat;
float xlat_mutablez;
float xlat_mutablezc;
 shader_body {
  vec3 ret_1;
  xlat_mutableuv1 = ((uv - vec2(0.5, 0.7)) * aspect.xy);
  float tmpvar_2;
  tmpvar_2 = clamp ((512.0 * xlat_mutableuv1.y), 0.0, 1.0);
  xlat_mutablez = (1.0/(xlat_mutableuv1.y));
  xlat_mutablers0.x = (xlat_mutableuv1.x * xlat_mutablez);
  xlat_mutablers0.y = xlat_mutablez;
  vec2 tmpvar_3;
  tmpvar_3.x = xlat_mutablers0.x;
  tmpvar_3.y = (xlat_mutablez + time);
  vec3 tmpvar_4;
  tmpvar_4 = ((texture (sampler_noise_hq, (tmpvar_3 * tmpvar_2)) + texture (sampler_noise_hq, (
    ((tmpvar_3 / 4.0) * tmpvar_2)
   +
    (time / 8.0)
  ))) - 1.0).xyz;
  vec2 tmpvar_5;
  tmpvar_5.x = xlat_mutableuv1.x;
  tmpvar_5.y = abs(xlat_mutableuv1.y);
  xlat_mutableuv_wat = (tmpvar_5 - ((
    (tmpvar_4 / xlat_mutablez)
   * 0.25) * tmpvar_2).xy);
  vec2 x_6;
  x_6 = (xlat_mutableuv_wat - vec2(0.2, 0.08));
  xlat_mutablesun = (clamp ((0.01 /
    sqrt(dot (x_6, x_6))
  ), 0.0, 1.0) * vec3(0.3, 0.5, 1.0));
  xlat_mutablezc = (0.7 / (xlat_mutableuv_wat.y + 0.5));
  vec2 tmpvar_7;
  tmpvar_7.x = (xlat_mutableuv_wat.x * xlat_mutablezc);
  tmpvar_7.y = (xlat_mutablezc + (time * 0.01));
  vec4 tmpvar_8;
  tmpvar_8 = texture (sampler_main, fract((tmpvar_7 + (rand_preset.xy - 0.5))));
  float tmpvar_9;
  tmpvar_9 = (0.9 * uv.x);
  xlat_mutableuv5 = ((xlat_mutableuv_wat / 8.0) / tmpvar_9);
  vec2 tmpvar_10;
  tmpvar_10.x = (((xlat_mutableuv5.x / 2.0) + (
    ((sin((
      (uv.x * 8.0)
     + time)) * (xlat_mutableuv1.y * xlat_mutableuv1.y)) * 0.004)
   / tmpvar_9)) + rand_preset.x);
  tmpvar_10.y = (0.04 * xlat_mutableuv5.y);
  float tmpvar_11;
  tmpvar_11 = (texture (sampler_noise_lq, (tmpvar_10 * 8.0)).x - 0.5);
  vec2 tmpvar_12;
  tmpvar_12.x = (xlat_mutableuv5.x * 8.0);
  tmpvar_12.y = ((xlat_mutableuv5.y * 128.0) - (tmpvar_11 / 2.0));
  vec3 tmpvar_13;
  tmpvar_13 = clamp ((1.0 - vec3((
    (abs(((xlat_mutableuv5.y * 32.0) / tmpvar_9)) * (1.0 + (0.5 * tmpvar_11)))
   *
    (1.0 + (0.4 * texture (sampler_noise_lq, tmpvar_12).x))
  ))), 0.0, 1.0);
  vec3 v_14;
  v_14 = (tmpvar_13 * sqrt(xlat_mutablesun));
  ret_1 = ((xlat_mutablesun + (
    (vec3(0.09, 0.12, 0.15) * clamp ((0.5 - abs(xlat_mutableuv1.y)), 0.0, 1.0))
   *
    clamp ((1.0 - (dot (tmpvar_8.xyz, vec3(0.32, 0.49, 0.29)) * 3.0)), 0.0, 1.0)
  )) + ((tmpvar_8.xyz * tmpvar_8.xyz) * 8.0));
  ret_1 = ((ret_1 * clamp (
    (1.0 - (tmpvar_13 * 8.0))
  , 0.0, 1.0)) + ((
    ((vec3(2.4, 8.0, 11.2) * (1.0 + tmpvar_11)) * tmpvar_9)
   *
    (abs(dFdx(v_14)) + abs(dFdy(v_14)))
  ) * (1.0 -
    (tmpvar_2 * 0.5)
  )));
  ret_1 = (ret_1 + ((
    (tmpvar_2 * texture (sampler_noise_lq, (tmpvar_2 * ((xlat_mutablers0 / 4.0) + (tmpvar_4 * 0.01).xy))).x)
   * 0.4) / xlat_mutablez));
  vec4 tmpvar_15;
  tmpvar_15.w = 1.0;
  tmpvar_15.xyz = ret_1;
  ret = tmpvar_15.xyz;
 }
