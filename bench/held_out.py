"""The model against a device on operators that no term of the model was chosen by.

    cargo build --release && python3 bench/held_out.py [--device opencl:0] [--program target/release/warpsight] [--seed N] [--picks] [--profile NAME [--over NAME]]

24 operators of a seed that was committed before the model that it judges; the shipped network does not serve for this: the model was
changed after looking at it. A chosen kernel of each is verified and timed: simulated by default, measured where the device is real.
With --picks, six small ones of another seed: how much slower the choice is than the best of the whole space, every kernel of which is
timed (some minutes, simulated). With --profile, such as sim-adreno640, what the probe found of that device: each operator is chosen by it too, and by
the profile that --over names (by default the one that the device is judged by), and both choices are timed.
"""

import argparse
import json
import math
import random
import subprocess
import tempfile

SEED = 20261123
COUNT = 24
PICKS = 6


def draw(rng: random.Random, least: float = 2e5, most: float = 2e7) -> str:
    """An operator of so many multiply-adds; extents are drawn in steps of one or four."""
    kind = rng.choices(["conv2d", "dwconv2d", "matmul", "fc", "deconv2d"], [9, 4, 5, 4, 2])[0]
    while True:
        c, k = (4 * rng.randint(1, 24) for _ in range(2))
        h, w = (rng.randint(6, 56) for _ in range(2))
        r, stride = rng.choice([1, 3, 3, 5]), rng.choice([1, 1, 2])
        if kind in ("matmul", "fc"):
            m, n, depth = (4 * rng.randint(4, 96) for _ in range(3))
            work, text = m * n * depth, f"matmul m={m} n={n} k={depth}"
            if kind == "fc":
                n = rng.randint(1, 16)
                work, text = n * depth * m, f"fc n={n} k={depth} m={m}"
        elif kind in ("conv2d", "deconv2d"):
            stride = stride if kind == "conv2d" else 1
            work, text = c * k * h * w * r * r // stride**2, f"{kind} n=1 c={c} h={h} w={w} k={k} r={r} s={r} stride={stride} pad={r // 2}"
        else:
            r = max(r, 3)
            work, text = 8 * c * h * w * r * r // stride**2, f"{kind} n=1 c={c} h={h} w={w} r={r} s={r} stride={stride} pad={r // 2}"
        if least <= work <= most:
            return text


def operators(seed: int = SEED) -> list[str]:
    rng = random.Random(seed)
    return [draw(rng) for _ in range(COUNT)]


def small() -> list[str]:
    """A different one each."""
    rng, found = random.Random(SEED + 1), []
    while len(found) < PICKS:
        text = draw(rng, 1e4, 1e5)
        if text not in found:
            found.append(text)
    return found


def optimize(options: argparse.Namespace, operator: str, *more: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        arguments = [options.program, "optimize", "--op", operator, "--device", options.device, "--json", "--store", f"{folder}/store", *more]
        return json.loads(subprocess.run(arguments, check=True, capture_output=True).stdout)


def picks(options: argparse.Namespace) -> None:
    losses = []
    for operator in small():
        found = optimize(options, operator, "--search", "exhaustive")
        losses.append(found["loss_percent"])
        best, chosen = found["best"], found["chosen"]
        print(
            f"{1e6 * chosen['time_s']:8.1f} us chosen {1e6 * best['time_s']:8.1f} us best, {chosen['time_source']}, "
            f"{losses[-1]:5.1f} % slower  {operator}",
            flush=True,
        )
    print(f"{options.device}: choices {sum(losses) / len(losses):.1f} % slower than the best in the mean, {len(losses)} spaces")


def ranks(values: list[float]) -> list[int]:
    return [sorted(values).index(v) for v in values]


def spearman(a: list[float], b: list[float]) -> float:
    n = len(a)
    squares = sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b)))
    return 1 - 6 * squares / (n * (n * n - 1))


def beside(options: argparse.Namespace) -> None:
    """Choices by one profile over those by another."""
    over = ("--profile", options.over) if options.over else ()
    ratios = []
    for operator in operators(options.seed)[: options.count]:
        reports = [optimize(options, operator, *more) for more in (over, ("--profile", options.profile))]
        name, profile = (report["profile"] for report in reports)
        if name == profile:
            raise SystemExit(f"error: {options.device} is judged by {name} already; --over names another profile")
        own, other = (report["chosen"] for report in reports)
        ratios.append(other["time_s"] / own["time_s"])
        times = [f"{1e6 * one['time_s']:8.1f} us ({1e6 * one['predicted_s']:.1f} predicted)" for one in (own, other)]
        print(f"{times[0]} {name}, {times[1]} {options.profile}, {own['time_source']}, {ratios[-1]:5.2f}  {operator}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{options.device}: choices by {options.profile} take x{mean:.3f} of those by {name}, worst x{max(ratios):.2f}, {len(ratios)} operators")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/warpsight")
    parser.add_argument("--device", default="sim:adreno640")
    parser.add_argument("--seed", type=int, default=SEED, help="other operators, where terms were added after seeing these")
    parser.add_argument("--picks", action="store_true")
    parser.add_argument("--profile", metavar="NAME", help="choose by this profile, too, and compare")
    parser.add_argument("--over", metavar="NAME", help="what --profile is compared with (default: what the device is judged by)")
    parser.add_argument("--count", type=int, default=COUNT, help="only the first so many operators (default: %(default)s)")
    options = parser.parse_args()
    if options.profile:
        return beside(options)
    if options.picks:
        return picks(options)
    pairs = []
    for operator in operators(options.seed)[: options.count]:
        chosen = optimize(options, operator)["chosen"]
        pairs.append((chosen["predicted_s"], chosen["time_s"]))
        ratio = chosen["predicted_s"] / chosen["time_s"]
        print(
            f"{1e6 * chosen['predicted_s']:8.1f} us predicted {1e6 * chosen['time_s']:8.1f} us {chosen['time_source']} "
            f"{ratio:5.2f} {chosen.get('limiter', 'sequence'):8} {operator}",
            flush=True,
        )
    error = math.exp(sum(abs(math.log(p / t)) for p, t in pairs) / len(pairs))
    rank = spearman([p for p, _ in pairs], [t for _, t in pairs])
    print(f"{options.device}: geometric error x{error:.2f}, rank correlation {rank:.2f}, {len(pairs)} operators")


if __name__ == "__main__":
    main()
