#!/usr/bin/env python3
"""How right `predict` is about what was recorded of real GPUs, beside the model of paper 002 as published.

    cargo build --release -p warpsight && python3 bench/truth.py [--data FOLDER] [--curves FOLDER] [--json FILE] [--rows]

Caches: every recorded sweep over sizes against the same kernel predicted by fits that have not seen its device. --curves draws recorded and
predicted bandwidths over size, one SVG per sweep, with the committed fits (`warpsight explore --sweep … --plot … --recorded …`).
Strides, a stencil, convolutions: recorded rows; those that a fit used are marked and not scored. `paper002` is `-` where that model has no words
for a kernel. Intervals: how often they hold on devices left out. Last, what no recording shows but must have a price.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import common

KERNELS = {"first": "sweep-l1.toml", "second": "sweep-l2.toml", "last": "sweep-l2.toml"}


def example(name, data, *options):
    """What an example of the library prints of the recordings."""
    command = ["cargo", "run", "--release", "-q", "-p", "warpsight-predict", "--example", name, "--", data, *options]
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=common.ROOT, check=False)
    if run.returncode:
        sys.exit(f"error: {run.stderr.strip()}")
    return json.loads(run.stdout)


def table(sweeps):
    for level in ["second", "first", "last"]:
        own = [sweep for sweep in sweeps if sweep["level"] == level]
        rows = []
        for sweep in own:
            off, at = sweep["cliff_off"], sweep["predicted_kib"]
            rows.append([
                sweep["sweep"],
                f"{sweep['recorded_kib']:.0f}",
                "-" if at is None else f"{at:.0f}",
                "-" if off is None else f"{100 * off:+.1f} %",
                f"{100 * sweep['plateau_off']:.1f} %",
                percent(sweep["paper002_cliff_off"]),
                percent(sweep["paper002_plateau_off"]),
            ])
        head = ["sweep", "falls at, KiB (measured)", "KiB (predicted)", "off", "plateaus off", "paper002 off (predicted)", "its plateaus"]
        common.print_table(head, rows)
        within = sum(sweep["cliff_off"] is not None and abs(sweep["cliff_off"]) <= 0.1 for sweep in own)
        plateaus = sum(sweep["plateau_off"] for sweep in own) / len(own)
        print(f"{level} level: {within} of {len(own)} cliffs within 10 %; plateaus {100 * plateaus:.1f} % off in the mean")
        for why in sorted({sweep["paper002_lacks"] for sweep in own if sweep["paper002_lacks"]}):
            print(f"paper002: {why}")
        print()


def percent(off):
    return "-" if off is None else f"{100 * off:+.1f} %"


def cycles(rows, name, every):
    """Loads of a warp: cycles for each 32 threads."""
    if every:
        table_of(rows, ["device", "element", "mode", "arg"], "cycles/warp")
    parts = {}
    for row in rows:
        if not row["fitted"]:
            kind = "lanes in lines of their own" if row.get("scattered") else "beyond the first level" if row.get("held") is False else "held"
            parts.setdefault((row["device"], row["element"], kind), []).append(row)
    scored(name, parts, ["device", "element", "rows of"])
    print("paper002 adds to each load the cycles that fill its lines, which these loads, repeated in the first level, do not have\n")


def table_of(rows, keys, unit):
    head = [*keys, f"measured, {unit}", "paper002 (predicted)", "ours (predicted)", "off", "a fit used it"]
    cells = []
    for row in rows:
        published = "-" if row["paper002"] is None else f"{row['paper002']:.2f}"
        off = percent(row["ours"] / row["measured"] - 1)
        cells.append([*(row[key] for key in keys), f"{row['measured']:.2f}", published, f"{row['ours']:.2f}", off, "yes" if row["fitted"] else ""])
    common.print_table(head, cells)


def scored(name, parts, keys):
    """Mean deviations of rows that no fit used."""
    cells = []
    for part, rows in parts.items():

        def off(which):
            offs = [abs(row[which] / row["measured"] - 1) for row in rows if row[which] is not None]
            return f"{100 * sum(offs) / len(offs):.1f} % of {len(offs)}" if offs else "-"

        cells.append([*part, len(rows), off("paper002"), off("ours")])
    common.print_table([f"{name}: {keys[0]}", *keys[1:], "rows", "paper002 off in the mean (predicted)", "ours off in the mean (predicted)"], cells)


def stencil(tables):
    for what, unit in [("loads", "B/point"), ("bandwidths", "GB/s")]:
        rows = tables[what]
        table_of(rows, ["launch"], unit)
        scored(f"7-point stencil, {what}", {("mi250x",): rows}, ["device"])
        print()


def convolutions(parts):
    cells = []
    for part in parts:
        answers = f"{part['paper002_answers']} of {part['count']} answered"
        cells.append([part["device"], part["rows"], part["count"], answers, f"{part['tau']:.2f}", f"{part['pick']:.2f}", f"{part['best_of_ten']:.2f}", f"{100 * part['bounds_kept']:.1f} %"])
    common.print_table(["15×15 convolution", "rows", "count", "paper002 (predicted)", "τ (predicted to measured)", "pick", "best of ten", "bounds kept"], cells)
    print("pick: measured time of what is predicted to be fastest over the best measured. Intervals, not times, are made of the divisible rows.\n")


def intervals():
    """What the fit that made them says of devices that were left out of it."""
    held = tomllib.loads((common.ROOT / "data" / "fits" / "time.toml").read_text())["held_out"]
    rows = [[name.removeprefix("kind: "), row[0], percent(row[1]), f"×{row[2]:.2f}"] for name, row in held.items()]
    common.print_table(["kernels, device recorded or like others", "rows (measured)", "inside intervals of a stated 80 %", "median width (predicted)"], rows)
    print("each device's rows of a recording judged without them; paper002 has no intervals\n")


COPY = """name = "copy"
block = [256]
domain = [4194304]
registers = 32
flops = {{ f64_fma = 1 }}
{more}[[field]]
name = "A"
element = "f64"
dims = [4194304]
load = [{load}]
[[field]]
name = "B"
element = "f64"
dims = [4194304]
store = [["tx"]]
"""
LOOP = '[[loop]]\nname = "t"\ntrips = {}\n'
# What: device, the kernel's parts, those of the kernel it is compared with, what it should be.
SAID = [
    ("loads by `read_only`; plain ones", "a40", {"load": '{ at = ["tx"], path = "read_only" }'}, {}, "about 1.3"),
    ("loads by `read_only`; plain ones", "a100-40", {"load": '{ at = ["tx"], path = "read_only" }'}, {}, "2 to 3.5 where the first level limits"),
    ("gather over 4 Mi f64, random; spread 1", "a100-40", {"load": '{ index = { proxy = "tx", spread = 4194304 } }'}, {"load": '{ index = { proxy = "tx", spread = 1 } }'}, "≥ 2"),
    ("a loop of 100 trips that nothing mentions; 1 trip", "a100-40", {"more": LOOP.format(100)}, {"more": LOOP.format(1)}, "> 1"),
]


def said(warpsight):
    """What no recording shows, but must not be silently one thing."""
    rows = []
    with tempfile.TemporaryDirectory() as temp:
        for what, device, one, other, expected in SAID:
            seconds = []
            for parts in [one, other]:
                file = Path(temp) / "kernel.toml"
                file.write_text(COPY.format(**{"more": "", "load": '["tx"]', **parts}))
                out, failed = common.call([warpsight, "predict", file, "--device", device, "--json"], 60)
                if out is None:
                    sys.exit(f"error: {what}: {failed}")
                found = json.loads(out)
                seconds.append((found[0] if isinstance(found, list) else found)["seconds"])
            rows.append([what, device, f"{seconds[0] / seconds[1]:.2f}", expected, "-"])
    common.print_table(["kernel; compared with", "device", "times as long (predicted)", "should", "paper002"], rows)
    print()


def draw(sweeps, folder, warpsight):
    folder.mkdir(parents=True, exist_ok=True)
    for sweep in sweeps:
        first = sweep["level"] == "first"
        name = "kib" if first else "run"
        values = [size if first else size / sweep["piece_kib"] for size, _ in sweep["recorded"]]
        settings = [f"{key}={value}" for key, value in sweep["settings"].items() if key not in (name, "repeats")]
        to = folder / f"{sweep['level']}-{sweep['sweep'].replace(':', '-')}.svg"
        with tempfile.TemporaryDirectory() as temp:
            recorded = Path(temp) / "recorded.csv"
            with recorded.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([name, "gb_per_s"])
                writer.writerows([value, row[1]] for value, row in zip(values, sweep["recorded"]))
            command = [warpsight, "explore", common.ROOT / "examples" / "accesses" / KERNELS[sweep["level"]], "--device", sweep["profile"]]
            command += [f"--sweep={name}={','.join(str(round(value)) for value in values)}", "--plot", to, "--recorded", recorded, "--json"]
            for setting in settings:
                command += ["--set", setting]
            out, failed = common.call(command, 600)
            if out is None:
                sys.exit(f"error: {sweep['sweep']}: {failed}")
        print(to)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=common.ROOT / ".." / "shared" / "data", help="the recordings (default: %(default)s)")
    parser.add_argument("--curves", type=Path, metavar="FOLDER", help="draw each sweep, recorded and predicted")
    parser.add_argument("--rows", action="store_true", help="print every recorded load too, not only their means")
    parser.add_argument("--warpsight", type=Path, default=common.TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    args = parser.parse_args()
    data = args.data.resolve()
    tables = example("truth", data)
    sweeps = tables.pop("sweeps")
    table(sweeps)
    cycles(tables["strides"], "strided and block loads, NVIDIA", args.rows)
    cycles(tables["strides_amd"], "strided and block loads, AMD", args.rows)
    stencil(tables["stencil"])
    convolutions(tables["convolution"])
    intervals()
    said(args.warpsight)
    common.write_json(args.json, {"sweeps": sweeps, **tables})
    if args.curves:
        draw(sweeps, args.curves, args.warpsight)


if __name__ == "__main__":
    main()
