#!/usr/bin/env python3
"""What searches cost: the best so far over device runs and over seconds, with and without pruning, as figure 18 of paper 001 has it.

    cargo build --release -p warpsight && python3 bench/search.py [--device DEVICE] [--profile P] [--op OPERATOR]… [--budget N] [--seeds N] [--out FILE.md]

Each search begins with nothing but the model; the mean of the seeds is geometric. Times are simulated on simulated devices, seconds of searches are measured on this
machine. `without` searches all that the device can run (`--prune none`), `with` what no other one beats (`--prune hardware`); `model` is the pick, unmeasured. Paper 001 reports 2.8 and 3 times the search cost without
its pruning, on spaces of 102,060 and 1,498,176 configurations whose knobs it does not state.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import common

OPERATORS = ["conv2d n=1 c=64 h=14 w=14 k=64 r=1 s=1 stride=1 pad=0", "conv2d n=1 c=32 h=14 w=14 k=64 r=3 s=3 stride=1 pad=1"]
WAYS = [(search, pruned) for pruned in (True, False) for search in ("random", "evolutionary", "anneal")]
MARKS = [10, 25, 50, 100, 200, 400]


def searched(given, operator, search, pruned, seed):
    with tempfile.TemporaryDirectory() as kept:
        command = [given.warpsight, "optimize", "--op", operator, "--device", given.device, "--sequences", "direct", "--search", search]
        command += ["--budget", given.budget, "--seed", seed, "--store", Path(kept) / "store", "--json"]
        command += ["--profile", given.profile] if given.profile else []
        command += ["--prune", "hardware" if pruned else "none"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(done.stderr or done.stdout)
    report = json.loads(done.stdout)
    [kernel] = report["search"]["kernels"]
    return {**kernel, "ranked": report["ranked"], "candidates": report["candidates"]}


def at(curve, runs):
    """Best so far, and seconds, after so many runs."""
    past = [point for point in curve if point["runs"] <= runs]
    return past[-1]["best_s"] if past else None


def until(curve, best):
    """Runs and seconds until something is as good."""
    return next(((point["runs"], point["seconds"]) for point in curve if point["best_s"] <= best), None)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values and None not in values else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--op", action="append", help="an operator; may be repeated")
    parser.add_argument("--device", default="sim:adreno640")
    parser.add_argument("--profile")
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--warpsight", type=Path, default=common.TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="the page; printed otherwise")
    given = parser.parse_args()
    marks = [mark for mark in MARKS if mark < given.budget] + [given.budget]
    page = ["# What searches cost", "", f"Made by `python3 bench/search.py {' '.join(sys.argv[1:])}`.", ""] + __doc__.split("\n\n")[2].split("\n")
    for operator in given.op or OPERATORS:
        ways = {way: [searched(given, operator, *way, seed) for seed in range(1, given.seeds + 1)] for way in WAYS}
        best = min(own["best_s"] for runs in ways.values() for own in runs)
        page += ["", f"## {operator} on {given.device}", ""]
        counts = {pruned: ways["random", pruned][0] for pruned in (True, False)}
        page += [f"Left of {counts[True]['candidates']} configurations with pruning {counts[True]['ranked']}, without {counts[False]['ranked']}. Best of all searches {best * 1e6:.2f} µs."]
        page += ["", "| search | pruning | " + " | ".join(f"{mark} runs" for mark in marks) + " | runs, seconds to within 5 % | seconds in all |", "|---|---|" + "---|" * (len(marks) + 2)]
        picked = mean([own["picked_s"] for own in ways["random", True]])
        page += ["| model | with | " + f"{picked / best:.3f} unmeasured |" + " |" * (len(marks) + 1)]
        for (search, pruned), runs in ways.items():
            over = [mean([at(own["curve"], mark) for own in runs]) for mark in marks]
            near = [until(own["curve"], 1.05 * best) for own in runs]
            reached = [own for own in near if own]
            cost = f"{mean([own[0] for own in reached]):.0f}, {mean([own[1] for own in reached]):.1f} ({len(reached)} of {len(near)})" if reached else "never"
            seconds = sum(own["curve"][-1]["seconds"] for own in runs) / len(runs)
            cells = [f"{own / best:.3f}" if own else "-" for own in over]
            page += [f"| {search} | {'with' if pruned else 'without'} | " + " | ".join(cells) + f" | {cost} | {seconds:.1f} |"]
    text = "\n".join(page) + "\n"
    if given.out:
        given.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
