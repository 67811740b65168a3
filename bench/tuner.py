#!/usr/bin/env python3
"""Kernel Tuner itself on a space of ours: what it reads of the exported files, and what its strategies find there.

    cargo build --release -p warpsight && python3 -m pip install -r bench/requirements-tuner.txt
    python3 bench/tuner.py ["OPERATOR"] [--device DEVICE] [--budget N] [--seeds N] [--json]
    python3 bench/tuner.py --brute-force ["OPERATOR"] [--device opencl:0] [--json]

One kernel's space is timed (`optimize --search exhaustive --export-kernel-tuner`), and its strategies run in Kernel Tuner's simulation mode, by the tuning
problem (T1) and the cache file, each with the budget. Beside them stand our own searches on the same space and budget. Columns: the time that was
found over the best of the space, in the geometric mean of the seeds. Fails where Kernel Tuner's schemas, or its brute force, say anything else than we do. The
results that it writes (T4) go back through `--import-kernel-tuner`.

With --brute-force Kernel Tuner compiles and times the whole space itself, through its OpenCL back end, of kernels that read and write buffers alone; and told are
how long that takes, how long our choice does (model only, `optimize`: chosen, compiled, verified and timed once), and what the pick loses against the best by
Kernel Tuner's times.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
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


def exported(command, operator, store, folder, *search):
    """Name of the kernel and the cache file's configurations, of what was tried."""
    warpsight(command, *operator, *search, "--store", store, "--export-kernel-tuner", folder)
    [problem] = folder.glob("*.t1.json")
    name = problem.name.removesuffix(".t1.json")
    return name, json.loads((folder / f"{name}.cache.json").read_text())["cache"]


def brute_force(command, operator, device, kept):
    """Kernel Tuner's own runs of all configurations, and our choice, in seconds of the wall's clock; compiled anew by both."""
    from kernel_tuner import interface

    # Its OpenCL back end refuses constant memory, which a tuning problem (T1) always hands on, be it none.
    tune = interface.tune_kernel
    interface.tune_kernel = lambda *args, cmem_args, **others: tune(*args, cmem_args=cmem_args or None, **others)
    operator = ["optimize", "--op", operator, "--device", device, "--sequences", "direct", "--without", "set_image"]
    # PoCL keeps what it compiled: nobody finds what another one did.
    os.environ["POCL_CACHE_DIR"] = str(kept / "ours")
    begun = time.perf_counter()
    warpsight(command, *operator, "--store", kept / "picked")
    choice = time.perf_counter() - begun
    name, picked = exported(command, operator, kept / "picked", kept / "pick")
    _, cache = exported(command, operator, kept / "store", kept / "all", "--search", "exhaustive")
    os.environ["POCL_CACHE_DIR"] = str(kept / "theirs")
    begun = time.perf_counter()
    number = int(device.removeprefix("opencl:"))
    problem = kept / "all" / f"{name}.t1.json"
    # Another cache file than ours, in which all is known.
    _, results = interface.tune_kernel_T1(problem, cache_filepath=kept / "theirs.json", device=number, simulation_mode=False, strategy="brute_force")
    force = time.perf_counter() - begun
    times = {}
    for result in results["results"]:
        key = ",".join(str(value) for value in result["configuration"].values())
        times[key] = least({"results": [result]}) if result["invalidity"] == "correct" else math.inf
    [pick] = picked
    best = min(times.values())
    failed = sum(math.isinf(own) for own in times.values())
    own = [entry["time"] for entry in cache.values() if not isinstance(entry["time"], str)]
    return {
        "space": len(cache), "tuned": len(times), "failed": failed, "brute_force_s": force, "choice_s": choice, "part": choice / force,
        "best_ms": best, "pick_ms": times[pick], "loss_percent": 100 * (times[pick] / best - 1),
        "our_loss_percent": 100 * (cache[pick]["time"] / min(own) - 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operator", nargs="?", default=OPERATOR, help="of one kernel (default: %(default)s)")
    parser.add_argument("--device", help="default: sim:adreno640; opencl:0 with --brute-force")
    parser.add_argument("--brute-force", action="store_true", help="Kernel Tuner runs every configuration itself")
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
    given.device = given.device or ("opencl:0" if given.brute_force else "sim:adreno640")
    if given.brute_force:
        with tempfile.TemporaryDirectory() as kept:
            told = brute_force(given.warpsight, given.operator, given.device, Path(kept))
        print(json.dumps({"op": given.operator, "device": given.device, **told}) if given.json else "\n".join(f"{key}: {value:.4g}" for key, value in told.items()))
        return
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
