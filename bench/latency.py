#!/usr/bin/env python3
"""Latency of a whole network: `warpsight optimize` beside onnxruntime, on the same cores.

onnxruntime runs before and after the command; where the two differ, the machine was not quiet, and the table says by how much.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time

import numpy as np
import onnxruntime

from common import add_arguments, call, parse_shape, print_table, write_json


def peer(model, feed, threads, runs):
    """(wall, processor) seconds of each run of onnxruntime on these arrays, all its optimizations on, and its results."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    for _ in range(10):
        results = session.run(None, feed)
    wall, processor = [], []
    for _ in range(runs):
        # process_time counts every thread of this process.
        start = time.perf_counter(), time.process_time()
        session.run(None, feed)
        wall.append(time.perf_counter() - start[0])
        processor.append(time.process_time() - start[1])
    return wall, processor, results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser, "release")
    parser.add_argument("--device", default="opencl:0", help="an OpenCL device on these cores (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=200, help="runs of onnxruntime on each side (default: %(default)s)")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="cores for both sides (default: all, %(default)s)")
    parser.add_argument("--top", type=int, default=1, help="candidates that the command times per operator (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for the command (default: %(default)g)")
    args = parser.parse_args()
    name, shape = parse_shape(args.input_shape)
    if not args.model.is_file():
        sys.exit(f"error: no file {args.model}")
    # Children inherit it, so both sides get the same cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cores])
    threads = sorted({args.cores, 1}, reverse=True)

    feed = {name: np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    before = {n: peer(args.model, feed, n, args.runs) for n in threads}
    with tempfile.TemporaryDirectory(prefix="warpsight-latency-") as out:
        start = time.perf_counter()
        command = [args.warpsight, "optimize", args.model, "--device", args.device, "--top", args.top, "--json", "--out", out]
        text, why = call(command, args.timeout)
        took = time.perf_counter() - start
    if why:
        print(f"error: warpsight optimize: {why}", file=sys.stderr)
        return 1
    try:
        network = json.loads(text)["network"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        print(f"error: warpsight optimize --json printed no network: {error!r}", file=sys.stderr)
        return 1
    after = {n: peer(args.model, feed, n, args.runs) for n in threads}

    median, drift, rows = statistics.median, 0.0, []
    for n in threads:
        early, late = median(before[n][0]), median(after[n][0])
        drift = max(drift, abs(late / early - 1))
        wall, processor = before[n][0] + after[n][0], before[n][1] + after[n][1]
        system = f"onnxruntime {onnxruntime.__version__}, {n} thread{'s' if n > 1 else ''}"
        rows.append({"system": system, "wall_s": median(wall), "cpu_s": median(processor), "source": "measured"})
    # The strongest peer stands first, and everything is compared with it.
    rows.sort(key=lambda row: row["wall_s"])
    ours = {"wall_s": network.get("time_s"), "cpu_s": network.get("cpu_s"), "source": network.get("time_source")}
    rows.append({"system": f"warpsight {args.device}", **ours})
    best = rows[0]["wall_s"]
    for row in rows:
        row["times_best_peer"] = row["wall_s"] / best if row["wall_s"] else None

    def shown(value, scale, digits):
        return "unknown" if value is None else f"{value * scale:.{digits}f}"

    print(f"{args.model.name} on {args.cores} cores of {platform.processor() or platform.machine()}, medians of {2 * args.runs} runs\n")
    table = [[r["system"], shown(r["wall_s"], 1e3, 3), shown(r["cpu_s"], 1e3, 3), shown(r["times_best_peer"], 1, 2), r["source"]] for r in rows]
    print_table(["system", "wall ms", "CPU ms", "x best peer", "source"], table)
    print(f"\nlatency: optimize took {took:.1f} s; onnxruntime before and after differs by up to {100 * drift:.0f} %")
    write_json(args.json, {"model": args.model.name, "cores": args.cores, "optimize_s": took, "drift": drift, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
