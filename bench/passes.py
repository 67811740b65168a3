#!/usr/bin/env python3
"""What each pass of lowering gains: paper 001's ablation (figure 17) on its four convolutions. Makes bench/passes.md.

    cargo build --release -p warpsight && python3 bench/passes.py

Every column is the model's pick, unmeasured and verified, with kernels made without one pass, or with one that is not applied by default. A pick is
of the space that is left: without images another configuration is taken, without the other passes the same one.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from common import ROOT, TARGET, call, write_json

DEVICES = ["sim:adreno630", "sim:adreno640", "sim:adreno740", "sim:mali-g76"]
# [H, W, Cin, Cout] of 1 x 1 convolutions.
SHAPES = [(64, 64, 512, 256), (18, 18, 128, 768), (56, 56, 128, 128), (28, 28, 256, 256)]
WAYS = [
    ("all", []),
    ("set_image", ["--without", "set_image"]),
    ("autobroadcast", ["--without", "autobroadcast"]),
    ("addresses", ["--without", "addresses"]),
    ("bounds", ["--without", "bounds"]),
    ("qualifiers", ["--without", "qualifiers"]),
    ("both primitives", ["--without", "set_image,autobroadcast"]),
    ("with strength", ["--with", "strength"]),
    ("with patterns", ["--with", "patterns"]),
]


def time_of(args, device, shape, way, store):
    h, w, cin, cout = shape
    op = f"conv2d n=1 c={cin} h={h} w={w} k={cout} r=1 s=1 dtype={args.dtype}"
    out, why = call([args.warpsight, "optimize", "--op", op, "--device", device, "--store", store, "--json", *way], args.timeout)
    if out is None:
        print(f"{device} {op} {way}: {why}", file=sys.stderr)
        return None
    # A sequence of kernels has `sequence`, one kernel `chosen`.
    value = json.loads(out)
    return (value.get("chosen") or value["sequence"])["time_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpsight", type=Path, default=TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--device", action="append", help="a device; may be repeated (default: the four simulated phones)")
    parser.add_argument("--dtype", default="f16s", help="element type (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=900, metavar="S", help="seconds for one pick (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "passes.md", help="the page (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the times as JSON too")
    args = parser.parse_args()
    lines = [
        "# What each pass of lowering gains",
        "",
        f"Written by `python3 bench/passes.py`. Paper 001's four 1 × 1 convolutions of figure 17, {args.dtype}; times of picks are simulated. A column is how many",
        "times as long it takes without that pass (or with one more, below 1 where it helps). The paper states 4.9× for autobroadcast and 6× for addresses at",
        "their best on an Adreno 640 (published, not rerun), and that images gain more there, broadcasts more on Mali. A simulated device keeps one vector",
        "of a scalar in as many registers; whether a real compiler spills them, as the paper's does, it does not know.",
    ]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for device in args.device or DEVICES:
            lines += ["", f"## {device}", "", "| H W Cin Cout | µs | " + " | ".join(name for name, _ in WAYS[1:]) + " |", "|---" * (len(WAYS) + 1) + "|"]
            for shape in SHAPES:
                times = {name: time_of(args, device, shape, way, Path(folder) / "store.sqlite") for name, way in WAYS}
                rows.append({"device": device, "shape": shape, "time_s": times})
                first = times["all"]
                cells = [f"×{times[name] / first:.2f}" if first and times[name] else "–" for name, _ in WAYS[1:]]
                lines.append(f"| {' '.join(map(str, shape))} | {first * 1e6:.0f} | " + " | ".join(cells) + " |" if first else f"| {shape} | – |")
                print(lines[-1], flush=True)
    args.out.write_text("\n".join(lines) + "\n")
    write_json(args.json, rows)


if __name__ == "__main__":
    main()
