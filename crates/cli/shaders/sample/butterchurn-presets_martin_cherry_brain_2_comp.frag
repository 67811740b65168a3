// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/martin - cherry brain 2.json, comp
float fc;
float size;
vec2 hor;
vec2 ver;
float xlat_mutableang1;
float xlat_mutableca;
vec2 xlat_mutabledz;
float xlat_mutablesa;
vec2 xlat_mutableuv1;
 shader_body {
  fc = (0.5 + (0.3 * sin(q4)));
  size = (0.4 + (0.1 * sin(q2)));
  vec2 tmpvar_1;
  tmpvar_1.y = 0.0;
  tmpvar_1.x = texsize.z;
  hor = (tmpvar_1 * 2.0);
  vec2 tmpvar_2;
  tmpvar_2.x = 0.0;
  tmpvar_2.y = texsize.w;
  ver = (tmpvar_2 * 2.0);
  vec3 ret_4;
  xlat_mutableuv1 = (((
    (uv - 0.5)
   * aspect.xy) * 1.4) + 0.5);
  xlat_mutableang1 = (((
    (q1 / 7.0)
   +
    (q2 / 9.0)
  ) + (q3 / 11.0)) - q26);
  xlat_mutableca = cos(xlat_mutableang1);
  xlat_mutablesa = sin(xlat_mutableang1);
  for (int n_3 = 1; n_3 <= 10; n_3++) {
    mat2 tmpvar_5;
    tmpvar_5[uint(0)].x = xlat_mutableca;
    tmpvar_5[uint(0)].y = -(xlat_mutablesa);
    tmpvar_5[1u].x = xlat_mutablesa;
    tmpvar_5[1u].y = xlat_mutableca;
    xlat_mutableuv1 = (((xlat_mutableuv1 - 0.5) * tmpvar_5) + 0.5);
    vec2 tmpvar_6;
    tmpvar_6.x = xlat_mutableuv1.x;
    tmpvar_6.y = (abs((xlat_mutableuv1.y - size)) + size);
    xlat_mutableuv1 = tmpvar_6;
  };
  xlat_mutableuv1 = (((
    (xlat_mutableuv1 - fc)
   * aspect.yx) + fc) + (0.1 * cos(
    (q4 * 2.72)
  )));
  xlat_mutabledz.x = dot (((2.0 *
    ((texture (sampler_blur1, (xlat_mutableuv1 - hor)).xyz * scale1) + bias1)
  ) - (2.0 *
    ((texture (sampler_blur1, (xlat_mutableuv1 + hor)).xyz * scale1) + bias1)
  )), vec3(0.32, 0.49, 0.29));
  xlat_mutabledz.y = dot (((2.0 *
    ((texture (sampler_blur1, (xlat_mutableuv1 - ver)).xyz * scale1) + bias1)
  ) - (2.0 *
    ((texture (sampler_blur1, (xlat_mutableuv1 + ver)).xyz * scale1) + bias1)
  )), vec3(0.32, 0.49, 0.29));
  ret_4 = (texture (sampler_main, (xlat_mutableuv1 + (xlat_mutabledz * -0.08))).xyz * 1.75);
  vec2 x_7;
  x_7 = (cos((16.0 * xlat_mutableuv1)) + (xlat_mutabledz * 8.0));
  ret_4 = (ret_4 + (0.05 / sqrt(
    dot (x_7, x_7)
  )));
  ret_4 = (ret_4 * (clamp (
    (8.0 - (8.0 * abs((
      (2.0 * uv.x)
     - 1.0))))
  , 0.0, 1.0) * clamp (
    (8.0 - (8.0 * abs((
      (2.0 * uv.y)
     - 1.0))))
  , 0.0, 1.0)));
  vec4 tmpvar_8;
  tmpvar_8.w = 1.0;
  tmpvar_8.xyz = ret_4;
  ret = tmpvar_8.xyz;
 }
