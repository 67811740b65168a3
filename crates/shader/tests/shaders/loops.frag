#version 450
// Control flow with known counts: nested loops, continue, break, a switch, calls.
layout(location = 0) out vec4 color;

int triangle(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            sum++;
        }
    }
    return sum;
}

int pick(int x) {
    switch (x % 5) {
    case 0:
        return 10;
    case 1:
        x += 100;
    case 2:
        x += 20;
        break;
    case 4:
        x = -x;
        break;
    default:
        x = 7;
    }
    return x;
}

void main() {
    ivec2 p = ivec2(gl_FragCoord.xy);
    int odd = 0;
    int steps = 0;
    for (int i = 0; i < 100; i++) {
        if ((i & 1) == 0) continue;
        odd += i;
        steps++;
        if (odd > p.x * p.x) break;
    }
    int n = 3 + p.y;
    do {
        n -= 2;
    } while (n > 0);
    color = vec4(odd + steps, triangle(p.x + 1), pick(p.x + 8 * p.y), n);
}
