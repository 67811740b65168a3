// The guided filter: local means, variance and covariance of two pictures, then the linear model averaged over windows.
// SPDX-License-Identifier: MIT OR Apache-2.0
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 pixel = 1.5 / iResolution.xy, uv = fragCoord / iResolution.xy;
    float a_sum = 0.0, b_sum = 0.0;
    for (int w = 0; w < 5; w++) {
        vec2 centre = uv + 2.0 * pixel * vec2(w == 1 ? 1 : w == 2 ? -1 : 0, w == 3 ? 1 : w == 4 ? -1 : 0);
        float mi = 0.0, mp = 0.0, ii = 0.0, ip = 0.0;
        for (int k = 0; k < 25; k++) {
            vec2 at = centre + pixel * vec2(k % 5 - 2, k / 5 - 2);
            float i = texture(iChannel0, at).g, p = texture(iChannel1, at).r;
            mi += i;
            mp += p;
            ii += i * i;
            ip += i * p;
        }
        mi /= 25.0;
        mp /= 25.0;
        float a = (ip / 25.0 - mi * mp) / (ii / 25.0 - mi * mi + 0.002 + 0.002 * sin(iTime) * sin(iTime));
        a_sum += a;
        b_sum += mp - a * mi;
    }
    float q = (a_sum * texture(iChannel0, uv).g + b_sum) / 5.0;
    fragColor = vec4(q, 0.5 * q + 0.2 * a_sum, 1.0 - q, 1.0);
}
