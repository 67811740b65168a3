#!/usr/bin/env python3
"""How right `predict` is about what was recorded of real GPUs.

    cargo build --release -p warpsight && python3 bench/truth.py [--data FOLDER] [--curves FOLDER] [--json FILE]

Caches: every recorded sweep over sizes against the same kernel predicted by fits that have not seen its device. --curves draws recorded and
predicted bandwidths over size, one SVG per sweep, with the committed fits (`warpsight explore --sweep … --plot … --recorded …`).
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import common

KERNELS = {"first": "sweep-l1.toml", "second": "sweep-l2.toml", "last": "sweep-l2.toml"}


def judged(data):
    """Each sweep by a fit without its device: what the example `fit_caches` prints."""
    command = ["cargo", "run", "--release", "-q", "-p", "warpsight-predict", "--example", "fit_caches", "--", data, "--check", "--json"]
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
            ])
        common.print_table(["sweep", "falls at, KiB (measured)", "KiB (predicted)", "off", "plateaus off"], rows)
        within = sum(sweep["cliff_off"] is not None and abs(sweep["cliff_off"]) <= 0.1 for sweep in own)
        plateaus = sum(sweep["plateau_off"] for sweep in own) / len(own)
        print(f"{level} level: {within} of {len(own)} cliffs within 10 %; plateaus {100 * plateaus:.1f} % off in the mean\n")


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
    parser.add_argument("--warpsight", type=Path, default=common.TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    args = parser.parse_args()
    sweeps = judged(args.data.resolve())
    table(sweeps)
    common.write_json(args.json, sweeps)
    if args.curves:
        draw(sweeps, args.curves, args.warpsight)


if __name__ == "__main__":
    main()
