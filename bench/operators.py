#!/usr/bin/env python3
"""What ways to compute an operator gain: Winograd's transforms, and reductions that work-items share. Makes bench/operators.md.

    cargo build --release -p warpsight && .venv/bin/python bench/operators.py [--device sim:mali-g76] [--only convolutions,connected,moved]

Parts of the page that are not made anew stay as they were; each says of which day it is.

Every row is the same operator with and without: `--sequences` leaves Winograd's out or takes it alone, `--without shares` with `--sequences direct`
leaves reductions whole. Each side is the model's pick, unmeasured, verified. On devices that measure, sides take turns over rounds, and medians count.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from common import TARGET, call, write_json

SIMULATED = ["sim:adreno640", "sim:mali-g76"]
# (channels, extent): 3 x 3 of stride 1 with as many filters as channels, those of ResNet-18 at 224.
RESNET = [(64, 56), (128, 28), (256, 14), (512, 7)]
# (k, n) of one row: heads of MobileNetV2 and ResNet-18, then BERT's two.
CONNECTED = [(1280, 1000), (512, 1000), (768, 3072), (3072, 768)]
PLAIN = "direct,padded,packed,split16,split256,runs16,runs256,rows,rows_kept"


def conv(channels, extent):
    op = f"conv2d n=1 c={channels} h={extent} w={extent} k={channels} r=3 s=3 stride=1 pad=1"
    sides = {"without": ["--sequences", PLAIN], "the pick": [], "F(2,3)": ["--sequences", "winograd2"], "F(4,3)": ["--sequences", "winograd4"]}
    return {"name": f"{channels} x {extent}² to {channels}", "op": op, "flops": 2 * 9 * extent**2 * channels**2, "sides": sides}


def connected(k, n):
    sides = {"without": ["--without", "shares", "--sequences", "direct"], "the pick": []}
    return {"name": f"1 x {k} x {n}", "op": f"fc n=1 k={k} m={n}", "flops": 2 * k * n, "sides": sides}


def beside_a_copy(name, op, read, written, flops=0):
    """An operator that mostly moves elements, and a copy of as many bytes: the elements that it reads and writes."""
    rows = max(1, (read + written) // 2 // 1024)
    sides = {"a copy": ["--op", f"copy n={rows} c=1024"], "the pick": []}
    return {"name": name, "op": op, "flops": flops, "bytes": 4 * (read + written), "sides": sides}


MOVES = [
    beside_a_copy("resize_nearest, 64 x 56² to 112²", "resize_nearest n=1 c=64 h=56 w=56 oh=112 ow=112", 64 * 56**2, 64 * 112**2),
    beside_a_copy("resize_nearest, 64 x 56² to 100²", "resize_nearest n=1 c=64 h=56 w=56 oh=100 ow=100", 64 * 56**2, 64 * 100**2),
    beside_a_copy("resize_linear, 64 x 56² to 112²", "resize_linear n=1 c=64 h=56 w=56 oh=112 ow=112", 64 * 56**2, 64 * 112**2),
    beside_a_copy("gather, 8192 of 50,000 rows of 256", "gather rows=50000 c=256 n=8192", 8192 * 256, 8192 * 256),
    beside_a_copy("scatter, 512 of 8192 rows of 256", "scatter rows=8192 c=256 n=512", 8192 * 256, 8192 * 256),
    beside_a_copy("split of 1024 x 4096 in four", "split n=1024 c=4096 parts=4", 4 * 1024 * 1024, 4 * 1024 * 1024),
    beside_a_copy("where, 1024 x 1024", "where n=1024 c=1024", 3 * 1024**2, 1024**2),
    beside_a_copy("transpose, 1024 x 1024", "transpose n=1024 c=1024", 1024**2, 1024**2),
    beside_a_copy(
        "deconv2d / 2, 32 x 28² to 32 x 55²", "deconv2d n=1 c=32 h=28 w=28 k=32 r=3 s=3 stride=2 pad=1", 32 * 28**2 + 9 * 1024, 32 * 55**2, 2 * 9 * 28**2 * 1024
    ),
]


def measure(args, case, device, store):
    """Fills each side with medians over rounds."""
    rounds = args.rounds if device.startswith("opencl") else 1
    samples = {name: [] for name in case["sides"]}
    for _ in range(rounds):
        for name, more in case["sides"].items():
            op = [] if "--op" in more else ["--op", case["op"]]
            command = [args.warpsight, "optimize", *op, "--device", device, "--json", "--runs", args.runs, "--store", store, *more]
            text, why = call(command, args.timeout)
            if why:
                sys.exit(f"error: warpsight optimize --op {case['op']!r} --device {device}: {why}")
            samples[name].append(json.loads(text))
    found = {"name": case["name"], "op": case["op"], "device": device, "flops": case["flops"], "bytes": case.get("bytes"), "sides": {}}
    for name, all_rounds in samples.items():
        last = all_rounds[-1]
        own = {"sequence": last["sequence"], "predicted_s": last["chosen"]["predicted_s"], "time_source": last["chosen"]["time_source"]}
        own["time_s"] = statistics.median(one["chosen"]["time_s"] for one in all_rounds)
        processor = [one["chosen"]["cpu_s"] for one in all_rounds if one["chosen"]["cpu_s"]]
        own["cpu_s"] = statistics.median(processor) if processor else None
        taken = [one for one in last["sequences"] if one["name"] == last["sequence"]]
        own["temporary_bytes"] = taken[0]["temporary_bytes"] if taken else 0
        own["expected_error"] = taken[0]["expected_error"] if taken else 0.0
        steps = last.get("steps") or [last["chosen"]]
        own["rel_l2_error"] = max((step.get("chosen") or step)["rel_l2_error"] for step in steps)
        own["max_abs_diff"] = last["network"]["max_abs_diff"]
        found["sides"][name] = own
    print(f"{device}: {case['name']}", file=sys.stderr)
    return found


def row(cells):
    return "| " + " | ".join(cells) + " |"


def micros(side):
    """Microseconds, and those of processor time where that is told."""
    own = f"{1e6 * side['time_s']:.0f}"
    return own + (f" ({1e6 * side['cpu_s']:.0f})" if side["cpu_s"] else "")


def table(cases, described):
    names = list(cases[0]["sides"])
    # Processor time says more of a machine that others use, too.
    key = "cpu_s" if all(side["cpu_s"] for case in cases for side in case["sides"].values()) else "time_s"
    heads = [described, *(f"{name} us" for name in names), "gain", "picked", "GFLOP/s of the pick", "predicted us: " + " / ".join(names[:2])]
    heads += ["between kernels MB", "error expected", "largest of its kernels, relative L2"]
    lines = [row(heads), "|---" * len(heads) + "|"]
    for case in cases:
        sides = case["sides"]
        pick, without = sides["the pick"], sides["without"]
        cells = [case["name"], *(micros(sides[name]) for name in names), f"×{without[key] / pick[key]:.2f}", pick["sequence"]]
        cells += [f"{1e-9 * case['flops'] / pick['time_s']:.0f}", " / ".join(f"{1e6 * sides[name]['predicted_s']:.0f}" for name in names[:2])]
        cells += [f"{1e-6 * pick['temporary_bytes']:.1f}", f"{pick['expected_error']:.0e}", f"{pick['rel_l2_error']:.0e}"]
        lines.append(row(cells))
    return lines


def moves(cases):
    """Operators that move elements beside copies of as many bytes."""
    key = "cpu_s" if all(side["cpu_s"] for case in cases for side in case["sides"].values()) else "time_s"
    heads = ["operator", "us", "a copy of as many bytes us", "copies", "GB/s", "GFLOP/s"]
    lines = [row(heads), "|---" * len(heads) + "|"]
    for case in cases:
        pick, copy = case["sides"]["the pick"], case["sides"]["a copy"]
        rate = f"{1e-9 * case['flops'] / pick['time_s']:.1f}" if case["flops"] else "-"
        lines.append(row([case["name"], micros(pick), micros(copy), f"{pick[key] / copy[key]:.1f}", f"{1e-9 * case['bytes'] / pick['time_s']:.1f}", rate]))
    return lines


PARTS = {
    "convolutions": ("convolutions of ResNet-18, 3 x 3", "channels, extent, filters", [conv(*own) for own in RESNET]),
    "connected": ("fully connected layers of one row", "rows, inputs, outputs", [connected(*own) for own in CONNECTED]),
    "moved": ("elements that are moved", None, MOVES),
}


HEAD = """# What ways to compute an operator gain

Made by `bench/operators.py`, f32; parts of 2026-11-26 were chosen by profiles by hand. Each side is the model's pick, unmeasured and verified; `without` has no Winograd, or no
reduction that work-items share, in one kernel or several. In brackets processor time, by which the gain is told then. Rates count the operations of the definition."""


def with_part(page, title, when, lines):
    """Puts a part in the place of the one with its title, or at the end."""
    text = "\n".join([title + when, "", *lines, ""])
    print(text)
    parts = re.split(r"^(?=## )", page.read_text() if page.exists() else "", flags=re.MULTILINE)
    parts = [part.rstrip() for part in parts[1:]]
    at = next((n for n, part in enumerate(parts) if part.startswith(title)), len(parts))
    parts[at : at + 1] = [text.rstrip()]
    page.write_text("\n\n".join([HEAD, *parts]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpsight", type=Path, default=TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--device", action="append", help="a device, may be repeated (default: two simulated ones and opencl:0)")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,...", help="parts of each device's: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each row on devices that measure (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=11, help="runs in a round (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one command (default: %(default)g)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows as JSON too")
    args = parser.parse_args()
    wanted = args.only.split(",")
    if unknown := set(wanted) - set(PARTS):
        sys.exit(f"error: --only {','.join(sorted(unknown))}: expected {', '.join(PARTS)}")
    page = Path(__file__).parent / "operators.md"
    found = []
    with tempfile.TemporaryDirectory(prefix="warpsight-operators-") as folder:
        for device in args.device or [*SIMULATED, "opencl:0"]:
            for part in wanted:
                title, described, cases = PARTS[part]
                measured = [measure(args, case, device, Path(folder) / "store.sqlite") for case in cases]
                found += measured
                lines = table(measured, described) if described else moves(measured)
                source = measured[0]["sides"]["the pick"]["time_source"]
                with_part(page, f"## {device}: {title}", f" ({source}, {time.strftime('%Y-%m-%d')})", lines)
    write_json(args.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
