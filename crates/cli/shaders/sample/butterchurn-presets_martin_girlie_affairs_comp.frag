// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/martin - girlie affairs.json, comp
vec3 xlat_mutableneu;
vec2 xlat_mutablers2;
 shader_body {
  vec2 uv_1;
  vec3 ret1_3;
  float ang2_4;
  vec2 uv2_5;
  uv_1 = (uv - 0.5);
  uv_1 = (uv_1 * aspect.xy);
  ret1_3 = vec3(0.0, 0.0, 0.0);
  for (int n_2 = 0; n_2 <= 6; n_2++) {
    ang2_4 = ((6.28 * float(n_2)) / 6.0);
    float tmpvar_6;
    tmpvar_6 = cos(ang2_4);
    float tmpvar_7;
    tmpvar_7 = sin(ang2_4);
    uv2_5.x = ((uv_1.x * tmpvar_6) - (uv_1.y * tmpvar_7));
    uv2_5.y = ((uv_1.x * tmpvar_7) + (uv_1.y * tmpvar_6));
    uv2_5 = (uv2_5 * aspect.yx);
    uv2_5 = (uv2_5 + 0.5);
    vec2 tmpvar_8;
    tmpvar_8 = fract(uv2_5);
    uv2_5 = tmpvar_8;
    xlat_mutableneu = (texture (sampler_main, tmpvar_8).xyz + ((texture (sampler_blur1, tmpvar_8).xyz * scale1) + bias1));
    ret1_3 = max (ret1_3, xlat_mutableneu);
  };
  vec2 tmpvar_9;
  tmpvar_9.x = q5;
  tmpvar_9.y = q6;
  xlat_mutablers2 = (sin((
    (uv_1 * 18.0)
   + tmpvar_9)) + (4.0 * dot (ret1_3, vec3(0.32, 0.49, 0.29))));
  vec4 tmpvar_10;
  tmpvar_10.w = 1.0;
  tmpvar_10.xyz = ((q22 * ret1_3) + ((24.0 *
    clamp ((0.04 / sqrt(dot (xlat_mutablers2, xlat_mutablers2))), 0.0, 1.0)
  ) * (0.2 +
    ((q1 * ret1_3) / 2.0)
  )));
  ret = tmpvar_10.xyz;
 }
