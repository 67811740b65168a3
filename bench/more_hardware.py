#!/usr/bin/env python3
"""Whether more of a device ever makes `warpsight pipeline` predict slower.

    cargo build --release -p warpsight && python3 bench/more_hardware.py [--policy best|kitsune] [--program FILE]

Plans the graphs of examples/dataflow on devices with less and more of a number, compares every pair, and prints those that are slower.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# As the profiles have them.
DEVICES = {
    "a100-40": {
        "execution.cores": 108,
        "execution.clock": 1.41e9,
        "memory.dram_bandwidth": 1.381e12,
        "memory.l2.bandwidth": 5.42e12,
    },
    "h200": {"execution.cores": 132, "execution.clock": 1.98e9, "memory.dram_bandwidth": 4.3e12},
}
FACTORS = [0.5, 0.8, 1.0, 1.05, 1.64, 2.0]
SLACK = 1e-9


def planned(args, graphs, device, key, value):
    command = [args.program, "pipeline", *graphs, "--device", device, "--policy", args.policy, "--override", f"{key}={value}", "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"{' '.join(command)}: {run.stderr}")
    found = json.loads(run.stdout)
    seconds = {}
    for graph in graphs:
        own = found[graph]
        seconds[graph] = {"bulk-synchronous": own["bsp_s"], "vertical": own["vertical"]["s"], "dataflow": own["dataflow"]["s"]}
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", default="best", choices=["best", "kitsune"])
    parser.add_argument("--program", default=str(ROOT / "target/release/warpsight"))
    args = parser.parse_args()
    graphs = [str(path) for path in sorted((ROOT / "examples/dataflow").glob("*.json"))]
    slower, pairs = [], dict.fromkeys(["bulk-synchronous", "vertical", "dataflow"], 0)
    for device, numbers in DEVICES.items():
        for key, own in numbers.items():
            values = [round(own * factor) if key.endswith("cores") else own * factor for factor in FACTORS]
            plans = [planned(args, graphs, device, key, value) for value in values]
            for (less, before), (more, after) in itertools.combinations(zip(FACTORS, plans), 2):
                for graph, kind in itertools.product(graphs, list(pairs)):
                    pairs[kind] += 1
                    loss = after[graph][kind] / before[graph][kind] - 1.0
                    if loss > SLACK:
                        slower.append((loss, pathlib.Path(graph).stem, device, key, less, more, kind))
    for loss, graph, device, key, less, more, kind in sorted(slower, reverse=True):
        print(f"{100 * loss:.2f} % slower (predicted): {graph} on {device}, {kind}, {key} × {less} and × {more}")
    print(f"{len(slower)} of {sum(pairs.values())} pairs are slower; compared: {pairs}; policy {args.policy}")


if __name__ == "__main__":
    main()
