// SPDX-License-Identifier: MIT
// SPDX-PackageName: three
// examples/jsm/shaders/GTAOShader.js

		uniform float intensity;
		uniform sampler2D tDiffuse;
		varying vec2 vUv;

		void main() {
			vec4 texel = texture2D( tDiffuse, vUv );
			gl_FragColor = vec4(mix(vec3(1.), texel.rgb, intensity), texel.a);
		}
