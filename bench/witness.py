#!/usr/bin/env python3
"""Volumes of every example by both witnesses: what `predict` counts, and what the simulator finds by executing the same touches.

    cargo build --release -p warpsight && python3 bench/witness.py [--json FILE] [--only NAME ...]

A row per kernel and device: predicted over simulated at each level, the share of the launch that was executed and how fast. Then, per level, the
median and the worst difference, relative to what was simulated; differences of less than a hundredth of what lanes ask for are left out, because
there is nothing to be right about. Nothing is measured: both sides are models, and neither knows how the other counts.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import common

EXAMPLES = common.ROOT / "examples" / "accesses"
DEVICES = ["a100-40", "h200", "mi250x"]
LEVELS = ["l1_requested", "l2_load", "l2_store", "dram_load", "dram_store"]
# Of what lanes load and store through the first level: what is less is no volume of a level.
LITTLE = 0.01


def compare(command, kernel, device):
    """What both say of a kernel on a device, or why there is nothing."""
    began = time.monotonic()
    out, failed = common.call([command, "predict", kernel, "--device", device, "--witness", "--json"], 600)
    seconds = time.monotonic() - began
    if out is None:
        return {"kernel": kernel.stem, "device": device, "failed": failed.splitlines()[0]}
    found = json.loads(out)
    predicted, witness = found["volumes"], found["witness"]
    simulated, part = witness["volumes"], witness["part"]
    asked = simulated["l1_requested"] + simulated["l2_store"]
    levels = {}
    for level in LEVELS:
        ours, theirs = predicted[level], simulated[level]
        known = ours is not None and max(ours, theirs) > LITTLE * asked
        levels[level] = {"predicted": ours, "simulated": theirs, "error": (ours - theirs) / theirs if known and theirs > 0 else None}
    rates = {"requests_per_s": part["executed"] / seconds, "lanes_per_s": part["lanes"] / seconds}
    return {"kernel": kernel.stem, "device": device, "levels": levels, "share": part["share"], **rates}


def cell(level):
    """`predicted/simulated`, or what is there of it."""
    if level["error"] is not None:
        return f"{1 + level['error']:.3f}"
    return "-" if level["predicted"] is None else "~0"


def summary(rows):
    """Per level the median and the worst difference."""
    table = []
    for level in LEVELS:
        known = [(abs(row["levels"][level]["error"]), row) for row in rows if row["levels"][level]["error"] is not None]
        if not known:
            continue
        worst, row = max(known, key=lambda own: own[0])
        errors = [error for error, _ in known]
        within = sum(error <= 0.05 for error in errors)
        where = f"{row['kernel']} on {row['device']}"
        table.append([level, len(errors), f"{100 * statistics.median(errors):.2f} %", within, f"{100 * worst:.1f} %", where])
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpsight", type=Path, default=common.TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these examples alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers as JSON too")
    args = parser.parse_args()
    kernels = [file for file in sorted(EXAMPLES.glob("*.toml")) if not args.only or file.stem in args.only]
    if not kernels:
        sys.exit(f"error: no example of {EXAMPLES} is named {' or '.join(args.only)}")
    rows = [compare(args.warpsight, kernel, device) for kernel in kernels for device in DEVICES]
    good = [row for row in rows if "failed" not in row]
    head = ["kernel", "device", *LEVELS, "executed", "lanes/s"]
    cells = [
        [row["kernel"], row["device"], *(cell(row["levels"][level]) for level in LEVELS), f"{100 * row['share']:.1f} %", f"{row['lanes_per_s']:.1e}"]
        for row in good
    ]
    print("predicted over simulated")
    common.print_table(head, cells)
    for row in rows:
        if "failed" in row:
            print(f"no answer: {row['kernel']} on {row['device']}: {row['failed']}")
    print("\ndifference, relative to what was simulated")
    common.print_table(["level", "rows", "median", "within 5 %", "worst", "of"], summary(good))
    # Of launches that take so long that starting the command does not count.
    long = [row["lanes_per_s"] for row in good if row["share"] < 1]
    if long:
        print(f"\n{statistics.median(long):.2e} lanes/s in the median over launches executed in part, the command's start among it")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if len(good) < len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
