// The Mandelbulb of a power that swings with time, distance by the running derivative; early exit on escape.
// SPDX-License-Identifier: MIT OR Apache-2.0
float bulb(vec3 c, out vec4 trap) {
    vec3 z = c;
    float r = length(z), dr = 1.0, power = 8.0 + 2.0 * sin(0.3 * iTime);
    trap = vec4(abs(z), r);
    for (int i = 0; i < 6; i++) {
        if (r > 2.0) break;
        float theta = acos(clamp(z.z / r, -1.0, 1.0)) * power, phi = atan(z.y, z.x) * power;
        float up = pow(r, power - 1.0);
        dr = up * power * dr + 1.0;
        z = up * r * vec3(sin(theta) * cos(phi), sin(theta) * sin(phi), cos(theta)) + c;
        r = length(z);
        trap = min(trap, vec4(abs(z), r));
    }
    return 0.5 * log(max(r, 1e-4)) * r / dr;
}

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 uv = (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 eye = vec3(0.0, -2.4, 0.7), ray = normalize(vec3(uv.x, 1.9, uv.y - 0.5));
    // A ball of radius 1.25 holds it; rays that pass it by cost nothing.
    float b = dot(eye, ray), q = b * b - dot(eye, eye) + 1.5625;
    vec3 colour = mix(vec3(0.1, 0.1, 0.2), vec3(0.4, 0.3, 0.3), 0.5 + 0.5 * uv.y);
    if (q > 0.0) {
        float t = -b - sqrt(q), end = -b + sqrt(q);
        vec4 trap;
        for (int i = 0; i < 50 && t < end; i++) {
            float d = bulb(eye + t * ray, trap);
            if (d < 2e-3) {
                float ao = 1.0 - float(i) / 50.0;
                colour = ao * ao * (0.3 + vec3(0.8, 0.5, 0.3) * trap.xyz + vec3(0.2, 0.1, 0.4) * trap.w);
                break;
            }
            t += d;
        }
    }
    fragColor = vec4(sqrt(colour), 1.0);
}
