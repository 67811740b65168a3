// A plant drawn by a turtle: the rewriting of an L-system is walked symbol by symbol with a stack, and the distance to each stroke taken.
// SPDX-License-Identifier: MIT OR Apache-2.0
float stroke(vec2 p, vec2 a, vec2 b) {
    vec2 e = b - a, w = p - a;
    return length(w - e * clamp(dot(w, e) / max(dot(e, e), 1e-8), 0.0, 1.0));
}

// The rule F -> F[+F]F[-F]F as codes: 0 F, 1 push and left, 2 push and right, 3 pop.
const int RULE[9] = int[9](0, 1, 0, 3, 0, 2, 0, 3, 0);

void mainImage(out vec4 fragColor, in vec2 fragCoord) {
    vec2 p = (fragCoord - vec2(0.5, 0.02) * iResolution.xy) / iResolution.y;
    vec2 at = vec2(0.0), saved_at[4];
    float heading = 1.5708, saved[4], best = 1.0;
    float wind = 0.05 * sin(iTime);
    int counter[3] = int[3](0, 0, 0), stack = 0;
    for (int guard = 0; guard < 300; guard++) {
        int s1 = RULE[counter[0]];
        int s2 = s1 == 0 ? RULE[counter[1]] : s1;
        if (s1 == 0 && s2 == 0) {
            vec2 next = at + 0.038 * vec2(cos(heading), sin(heading));
            best = min(best, stroke(p, at, next) + 0.001 * float(stack));
            at = next;
            heading += wind;
        } else if (s2 == 3) {
            stack = max(stack - 1, 0);
            at = saved_at[stack];
            heading = saved[stack];
        } else {
            saved_at[stack] = at;
            saved[stack] = heading;
            stack = min(stack + 1, 3);
            heading += s2 == 1 ? 0.45 : -0.45;
        }
        if (s1 == 0 && counter[1] < 8) {
            counter[1]++;
            continue;
        }
        counter[1] = 0;
        if (counter[0] < 8) {
            counter[0]++;
            continue;
        }
        counter[0] = 0;
        if (++counter[2] == 3) break;
    }
    vec3 colour = mix(vec3(0.15, 0.4, 0.1), vec3(0.9, 0.95, 0.85) - 0.3 * p.y, smoothstep(0.002, 0.006, best));
    fragColor = vec4(colour, 1.0);
}
