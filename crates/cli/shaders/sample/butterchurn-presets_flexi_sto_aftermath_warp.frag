// SPDX-License-Identifier: MIT
// SPDX-PackageName: butterchurn-presets
// presets/converted/Flexi + sto - aftermath.json, warp
 shader_body {
  int i_1;
  vec2 m_2;
  vec2 d_3;
  vec3 ret_4;
  vec2 tmpvar_5;
  tmpvar_5 = mix (uv_orig, uv, vec2(0.33, 0.33));
  d_3 = texsize.zw;
  vec2 tmpvar_6;
  tmpvar_6 = (uv_orig + ((vec2(0.0, 1.0) * texsize.zw) * q1));
  vec3 tmpvar_7;
  vec2 tmpvar_8;
  tmpvar_8 = (vec2(1.0, 0.0) * texsize.zw);
  tmpvar_7 = vec3(greaterThan (texture (sampler_fw_main, (tmpvar_6 - tmpvar_8)).yyy, vec3(0.5, 0.5, 0.5)));
  vec3 tmpvar_9;
  tmpvar_9 = vec3(greaterThan (texture (sampler_fw_main, (tmpvar_6 + tmpvar_8)).yyy, vec3(0.5, 0.5, 0.5)));
  ret_4.y = ((tmpvar_7 * (1.0 - tmpvar_9)) + ((1.0 - tmpvar_7) * tmpvar_9)).x;
  m_2 = (vec2(0.0, 0.7) + ((
    (0.5 + ((tmpvar_5 - 0.5) * aspect.wz))
   - 0.5) * 0.6));
  i_1 = 0;
  while (true) {
    bool tmpvar_10;
    if ((i_1 < 30)) {
      tmpvar_10 = (dot (m_2, m_2) < 5.0);
    } else {
      tmpvar_10 = bool(0);
    };
    if (!(tmpvar_10)) {
      break;
    };
    vec2 tmpvar_11;
    tmpvar_11.x = ((m_2.x * m_2.x) - (m_2.y * m_2.y));
    tmpvar_11.y = ((m_2.x * m_2.y) * 2.0);
    m_2 = (tmpvar_11 + vec2(0.3, 0.47));
    i_1++;
  };
  ret_4.x = ((dot (m_2, m_2) * 0.04) + ((0.18 -
    (m_2.x * 0.08)
  ) - (m_2.y * 0.1)));
  vec2 tmpvar_12;
  tmpvar_12 = mix (uv_orig, tmpvar_5, vec2(0.02, 0.02));
  d_3 = (texsize.zw * 8.0);
  vec2 tmpvar_13;
  tmpvar_13.x = (((2.0 *
    ((texture (sampler_blur1, (tmpvar_12 + (vec2(1.0, 0.0) * d_3))).xyz * scale1) + bias1)
  ) - (2.0 *
    ((texture (sampler_blur1, (tmpvar_12 - (vec2(1.0, 0.0) * d_3))).xyz * scale1) + bias1)
  )) * 0.5).z;
  tmpvar_13.y = (((2.0 *
    ((texture (sampler_blur1, (tmpvar_12 + (vec2(0.0, 1.0) * d_3))).xyz * scale1) + bias1)
  ) - (2.0 *
    ((texture (sampler_blur1, (tmpvar_12 - (vec2(0.0, 1.0) * d_3))).xyz * scale1) + bias1)
  )) * 0.5).z;
  ret_4.z = texture (sampler_fc_main, (tmpvar_12 + (tmpvar_13 * texsize.zw))).z;
  ret_4.z = (ret_4.z + ((
    (texture (sampler_noise_lq, (((uv_orig * texsize.xy) * (texsize_noise_lq.zw * 1.2)) + rand_frame.xy)).xyz - 0.5)
   * 0.04) - 0.002).x);
  ret_4.z = (ret_4.z + ((
    (-(ret_4.y) * 0.008)
   -
    (ret_4.x * 0.009)
  ) + 0.004));
  vec4 tmpvar_14;
  tmpvar_14.w = 1.0;
  tmpvar_14.xyz = ret_4;
  ret = tmpvar_14.xyz;
 }
