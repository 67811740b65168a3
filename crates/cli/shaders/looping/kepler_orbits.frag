// Planets on Kepler orbits: the eccentric anomaly by Newton's method for each, with a trail of past places.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = 2.6 * (2.0 * fragCoord - iResolution.xy) / iResolution.y;
    vec3 sum = vec3(1.0, 0.8, 0.4) * 0.02 / (0.01 + dot(p, p));
    for (int planet = 0; planet < 5; planet++) {
        float a = 0.5 + 0.45 * float(planet), e = 0.15 + 0.12 * float(planet), turn = 1.3 * float(planet);
        vec3 tint = 0.5 + 0.5 * cos(turn + vec3(0.0, 2.1, 4.2));
        for (int past = 0; past < 6; past++) {
            float mean = mod((iTime - 0.12 * float(past)) / (a * sqrt(a)) + turn, 6.28318531), anomaly = mean;
            for (int i = 0; i < 10; i++) {
                float step_by = (anomaly - e * sin(anomaly) - mean) / (1.0 - e * cos(anomaly));
                anomaly -= step_by;
                if (abs(step_by) < 1e-5) break;
            }
            vec2 q = a * vec2(cos(anomaly) - e, sqrt(1.0 - e * e) * sin(anomaly));
            q = mat2(cos(turn), sin(turn), -sin(turn), cos(turn)) * q;
            float d = length(p - q);
            sum += tint * exp(-900.0 * d * d / (1.0 + 2.0 * float(past))) / (1.0 + float(past));
        }
    }
    fragColor = vec4(sum + 0.01, 1.0);
}
