#!/usr/bin/env python3
"""What each pass of lowering gains: paper 001's ablation (figure 17) on its four convolutions, and on two that read beyond their input. Makes bench/passes.md.

    cargo build --release -p warpsight && python3 bench/passes.py     # an hour of one core; what is interrupted goes on
    python3 bench/passes.py --device sim:adreno640                     # one device anew; the others stay

The two have conditions at edges, some of them common to several loads: there bounds that are computed once have something to gain. `opencl:0` is a
compiler of its own, which sees qualifiers and addresses; the simulator's reads programs. Every column is the model's pick, unmeasured and verified, with kernels made without one pass, or with one that is not applied by default. A pick is
of the space that is left: without images another configuration is taken, without the other passes the same one.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from common import ROOT, TARGET, call, write_json

DEVICES = ["sim:adreno630", "sim:adreno640", "sim:adreno740", "sim:mali-g76", "opencl:0"]
# [H, W, Cin, Cout] of 1 x 1 convolutions, and two whose windows leave the input, by what pages and results call them.
SHAPES = [(64, 64, 512, 256), (18, 18, 128, 768), (56, 56, 128, 128), (28, 28, 256, 256)]
OPERATORS = {f"{h} {w} {cin} {cout}": f"conv2d n=1 c={cin} h={h} w={w} k={cout} r=1 s=1" for h, w, cin, cout in SHAPES} | {
    "28 28 64 64, 3 x 3 pad 1": "conv2d n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1",
    "17 17 128 128, 7 x 1": "conv2d n=1 c=128 h=17 w=17 k=128 r=7 s=1 padh=3",
}
WAYS = [
    ("all", []),
    ("set_image", ["--without", "set_image"]),
    ("autobroadcast", ["--without", "autobroadcast"]),
    ("addresses", ["--without", "addresses"]),
    ("bounds", ["--without", "bounds"]),
    ("qualifiers", ["--without", "qualifiers"]),
    ("both primitives", ["--without", "set_image,autobroadcast"]),
    ("with strength", ["--with", "strength"]),
    ("with sampler", ["--with", "sampler"]),
    ("with patterns", ["--with", "patterns"]),
]


def time_of(args, device, op, way):
    """Seconds of a pick, or None, and why is said."""
    op = f"{op} dtype={args.dtype}"
    # A pass is of a kernel: other sequences than that of one would hide it.
    way = ["--sequences", "direct", *way]
    out, why = call([args.warpsight, "optimize", "--op", op, "--device", device, "--store", args.store, "--json", *way], args.timeout)
    if out is None:
        print(f"{device} {op} {way}: {why}", file=sys.stderr)
        return None
    # A sequence of kernels has `sequence`, one kernel `chosen`.
    value = json.loads(out)
    args.profiles[device] = value["profile"]
    return (value.get("chosen") or value["sequence"])["time_s"]


def measure(args, results):
    """Times of each device, shape and way, written as they come; those that there are stay."""
    for device in args.device or DEVICES:
        for shape, op in OPERATORS.items():
            times = results.setdefault(args.dtype, {}).setdefault(device, {}).setdefault(shape, {})
            for name, way in WAYS:
                if times.get(name) is None:
                    times[name] = time_of(args, device, op, way)
                    write_json(args.results, results)
            print(f"{device} {shape}: {times}", file=sys.stderr)


def report(args, results):
    lines = [
        "# What each pass of lowering gains",
        "",
        f"Written by `python3 bench/passes.py` on {time.strftime('%Y-%m-%d')}, chosen by the profiles {', '.join(sorted(args.profiles.values()))}. Paper 001's four 1 × 1 convolutions of figure 17, a padded 3 × 3 and a 7 × 1, {args.dtype}, one kernel each; times of picks are simulated, on `opencl:0` measured. A column is how many",
        "times as long it takes without that pass (or with one more, below 1 where it helps). The paper states 4.9× for autobroadcast and 6× for addresses at",
        "their best on an Adreno 640 (published, not rerun), and that images gain more there, broadcasts more on Mali. A simulated device keeps one vector",
        "of a scalar in as many registers; whether a real compiler spills them, as the paper's does, it does not know.",
    ]
    found = results.get(args.dtype, {})
    for device in filter(found.get, DEVICES):
        lines += ["", f"## {device}", "", "| H W Cin Cout | µs | " + " | ".join(name for name, _ in WAYS[1:]) + " |", "|---" * (len(WAYS) + 1) + "|"]
        for shape, times in found[device].items():
            first = times.get("all")
            cells = [f"×{times[name] / first:.2f}" if first and times.get(name) else "–" for name, _ in WAYS[1:]]
            lines.append(f"| {shape} | {first * 1e6:.0f} | " + " | ".join(cells) + " |" if first else f"| {shape} | – |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpsight", type=Path, default=TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--device", action="append", choices=DEVICES, help="a device; may be repeated (default: all)")
    parser.add_argument("--dtype", default="f16s", help="element type (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=900, metavar="S", help="seconds for one pick (default: %(default)s)")
    parser.add_argument("--store", type=Path, default=TARGET / "passes.sqlite", help="kernels that were simulated stay there (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=TARGET / "passes.json", help="times, written as they come (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "passes.md", help="the page (default: %(default)s)")
    args = parser.parse_args()
    results = json.loads(args.results.read_text()) if args.results.exists() else {}
    args.profiles = results.setdefault("profiles", {})
    measure(args, results)
    args.out.write_text(report(args, results))


if __name__ == "__main__":
    main()
