#!/usr/bin/env python3
"""Tables of configurations that others measured on real GPUs, against the unmeasured model: how well it ranks, and what its pick takes.

    cargo build --release -p warpsight && python3 bench/tables.py gemm|convolution FILE.csv.gz --device NAME|PROFILE.toml [--json]

`gemm` is examples/accesses/clblast-gemm.toml, `convolution` examples/accesses/conv-shared.toml; a table's columns are their parameters. Prints rows,
Kendall's tau-b, and what the pick and the best of the ten predicted to be the fastest take over the best measured. This only calls
`warpsight explore KERNEL --table FILE`, which has more: where the model errs, by groups of rows.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import common

KERNELS = {"gemm": "clblast-gemm", "convolution": "conv-shared"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", choices=KERNELS)
    parser.add_argument("table", type=Path, help="CSV, or packed (.gz): a column for each parameter, and ms")
    parser.add_argument("--device", required=True, help="a built-in profile or a file of one")
    parser.add_argument("--warpsight", type=Path, default=common.TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one object")
    given = parser.parse_args()
    kernel = common.ROOT / "examples" / "accesses" / f"{KERNELS[given.kernel]}.toml"
    command = [given.warpsight, "explore", kernel, "--device", given.device, "--table", given.table, "--json"]
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        sys.exit(f"error: no command `{given.warpsight}`; build it first, or name it with --warpsight")
    if done.returncode != 0:
        # What is wrong with the table, or the device, is said as the command says it, with its exit code.
        sys.stderr.write(done.stderr or done.stdout)
        sys.exit(done.returncode)
    found = json.loads(done.stdout)
    score = {key: found[key] for key in ("rows", "tau", "pick", "best_of_ten")}
    if given.json:
        print(json.dumps(score))
    else:
        number = lambda value: "-" if value is None else f"{value:.3f}"
        common.print_table(["kernel", "device", *score], [[given.kernel, found["device"], score["rows"], *(number(score[key]) for key in ("tau", "pick", "best_of_ten"))]])


if __name__ == "__main__":
    main()
