#!/usr/bin/env python3
"""Kernel Tuner itself on a space of ours: what it reads of the exported files, and what its strategies find there.

    cargo build --release -p warpsight && python3 -m pip install -r bench/requirements-tuner.txt
    python3 bench/tuner.py ["OPERATOR"] [--device DEVICE] [--budget N] [--seeds N] [--json]

One kernel's space is timed (`optimize --search exhaustive --export-kernel-tuner`), and its strategies run in Kernel Tuner's simulation mode, by the tuning
problem (T1) and the cache file, each with the budget. Beside them stand our own searches on the same space and budget. Columns: the time that was
found over the best of the space, in the geometric mean of the seeds. Fails where Kernel Tuner's schemas, or its brute force, say anything else than we do. The
results that it writes (T4) go back through `--import-kernel-tuner`.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import common

OPERATOR = "matmul m=32 n=48 k=40"
STRATEGIES = ["random_sample", "genetic_algorithm", "simulated_annealing", "pso"]
OURS = ["random", "evolutionary", "anneal"]


def warpsight(command, *args):
    done = subprocess.run([str(command), *map(str, args), "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.stderr.write(done.stderr or done.stdout)
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def tuned(folder, name, strategy, options, seed):
    """Results of Kernel Tuner, as T4."""
    import numpy
    from kernel_tuner.interface import tune_kernel_T1

    random.seed(seed)
    numpy.random.seed(seed)
    problem, cache = folder / f"{name}.t1.json", folder / f"{name}.cache.json"
    _, results = tune_kernel_T1(problem, cache_filepath=cache, simulation_mode=True, strategy=strategy, strategy_options=dict(options))
    return results


def least(results):
    return min(own["value"] for result in results["results"] for own in result["measurements"] if own["name"] == "time" and isinstance(own["value"], float))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operator", nargs="?", default=OPERATOR, help="of one kernel (default: %(default)s)")
    parser.add_argument("--device", default="sim:adreno640")
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--warpsight", type=Path, default=common.TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one object")
    given = parser.parse_args()
    try:
        import jsonschema
        import kernel_tuner.file_utils as schemas
    except ImportError:
        sys.exit("error: Kernel Tuner is not installed: python3 -m pip install -r bench/requirements-tuner.txt")
    with tempfile.TemporaryDirectory() as kept:
        folder, store = Path(kept) / "tuner", Path(kept) / "store"
        operator = ["optimize", "--op", given.operator, "--device", given.device, "--sequences", "direct"]
        warpsight(given.warpsight, *operator, "--search", "exhaustive", "--store", store, "--export-kernel-tuner", folder)
        [problem] = folder.glob("*.t1.json")
        name = problem.name.removesuffix(".t1.json")
        jsonschema.validate(json.loads(problem.read_text()), schemas.input_file_schema()[1])
        jsonschema.validate(json.loads((folder / f"{name}.t4.json").read_text()), schemas.output_file_schema("results")[1])
        cache = json.loads((folder / f"{name}.cache.json").read_text())["cache"]
        best = min(own["time"] for own in cache.values() if not isinstance(own["time"], str))
        whole = tuned(folder, name, "brute_force", {}, 0)
        assert len(whole["results"]) == len(cache), f"Kernel Tuner sees {len(whole['results'])} of {len(cache)} configurations"
        assert least(whole) == best, f"its best takes {least(whole)} ms, ours {best} ms"
        # What it writes comes back.
        back = Path(kept) / "back.json"
        back.write_text(json.dumps(whole, default=str))
        read = warpsight(given.warpsight, *operator, "--import-kernel-tuner", back)
        assert read["rows"] + read["failed"] == len(cache) and read["other_spaces"] == 0, read
        found = {}
        for strategy in STRATEGIES:
            options = {"max_fevals": given.budget}
            found[f"Kernel Tuner: {strategy}"] = mean([least(tuned(folder, name, strategy, options, seed)) / best for seed in range(1, given.seeds + 1)])
        for search in OURS:
            times = []
            for seed in range(1, given.seeds + 1):
                own = Path(kept) / f"{search}-{seed}"
                report = warpsight(given.warpsight, *operator, "--search", search, "--budget", given.budget, "--seed", seed, "--store", own)
                times.append(1e3 * report["search"]["kernels"][0]["best_s"] / best)
            found[f"warpsight: {search}"] = mean(times)
    score = {key: read[key] for key in ("rows", "tau", "pick", "best_of_ten")}
    if given.json:
        print(json.dumps({"op": given.operator, "device": given.device, "budget": given.budget, "seeds": given.seeds, "space": len(cache), "import": score, "over_best": found}))
        return
    print(f"{given.operator} on {given.device}: {len(cache)} configurations; what {given.budget} runs found over the best of all, {given.seeds} seeds")
    print(f"the unmeasured model on the same space: tau {score['tau']:.3f}, pick {score['pick']:.3f}, best of ten {score['best_of_ten']:.3f}")
    common.print_table(["search", "over the best"], [[key, f"{value:.3f}"] for key, value in found.items()])


if __name__ == "__main__":
    main()
