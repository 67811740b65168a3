#!/usr/bin/env python3
"""Whole networks on the simulated Adreno 640 beside what is published of a real one. Makes bench/phones.md.

    cargo build --release && .venv/bin/python bench/phones.py

`warpsight optimize` chooses from an empty store, verifies every kernel and simulates the network: some minutes in all, and the same
times on every machine. Nothing published is run again.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

import onnx

from common import TARGET, call, write_json
from networks import NETWORKS, SHAPE

DEVICE = "sim:adreno640"
# Of `DEVICE`: lanes of its cores, two operations each, times its clock.
PEAK = 898.6e9
# Milliseconds on average in a public inference engine's own benchmark: Vulkan with f16 storage; the same phone's CPU with four threads.
PUBLISHED = {"mobilenetv2": (10.85, 4.68), "resnet18": (24.8, 10.35)}
# As the published runs store, and as a network does by default.
DTYPES = ("f16s", "f32")
SHOWN = 5


def nodes(model):
    """Of each node of a network with products: operations of its definition, and `512 x 7² to 512, 3 x 3` (channels and output's extent, filters, window)."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    shapes = {own.name: list(own.dims) for own in graph.initializer}
    shapes |= {
        own.name: [dim.dim_value for dim in own.type.tensor_type.shape.dim]
        for own in [*graph.value_info, *graph.input, *graph.output]
    }
    found = {}
    for node in graph.node:
        if node.op_type not in ("Conv", "Gemm", "MatMul"):
            continue
        weight, output = shapes[node.input[1]], shapes[node.output[0]]
        if node.op_type == "Conv":
            filters, channels, *window = weight
            summed, of = math.prod(weight[1:]), shapes[node.input[0]][1]
            text = f"{filters if channels < of else f'{of} to {filters}'} at {output[2]}², {window[0]} x {window[1]}"
        else:
            summed = math.prod(weight) // output[-1]
            text = f"{summed} to {output[-1]}"
        found[node.name] = 2 * math.prod(output) * summed, text
    return found


def by_layer(products, layers):
    """The products of each layer: of its own node, and of those after it that are no layers, since one operator does both."""
    found, last = {}, None
    for node, (flops, text) in products.items():
        # A node of several operators has a kernel of the second name, which does the products.
        own = next((name for name in (node, f"{node}.product") if name in layers), last)
        if own is None:
            sys.exit(f"error: no layer has the products of {node}")
        before, shape = found.get(own, (0, ""))
        found[own] = before + flops, f"{shape}; {text}" if shape else text
        last = own
    return found


def simulate(args, name, dtype, folder):
    network = NETWORKS[name]()
    model = folder / f"{name}.onnx"
    onnx.save(network, model)
    command = [args.warpsight, "optimize", model, "--device", DEVICE, "--dtype", dtype, "--json", "--store", folder / f"{name}-{dtype}.sqlite"]
    start = time.perf_counter()
    text, why = call(command, args.timeout)
    if why:
        sys.exit(f"error: warpsight optimize {name}: {why}")
    found = json.loads(text)
    names = dict.fromkeys(layer["name"] for layer in found["layers"])
    products = by_layer(nodes(network), names)
    layers = []
    for node in names:
        # Several kernels of a node are one layer, limited as the one that takes longest.
        steps = [layer for layer in found["layers"] if layer["name"] == node]
        longest = max(steps, key=lambda layer: layer["time_s"])
        total = {key: sum(layer[key] for layer in steps) for key in ("time_s", "predicted_s")}
        flops, shape = products.get(node, (None, ""))
        layers.append({"name": node, "op": " + ".join(own["op"] for own in steps), "limiter": longest["limiter"]} | total | {"flops": flops, "shape": shape})
    layers.sort(key=lambda layer: layer["time_s"], reverse=True)
    network = {key: found["network"][key] for key in ("time_s", "time_source", "predicted_s", "max_abs_diff")}
    verified = all(operator["verified"] for operator in found["operators"])
    took = time.perf_counter() - start
    print(f"{name}, {dtype}: {took:.0f} s", file=sys.stderr)
    return {"name": name, "dtype": dtype, "driver": found["driver"], "profile": found["profile"], "took_s": took, "verified": verified, "layers": layers, "sequences": found["sequences"], **network}


def row(cells):
    return "| " + " | ".join(cells) + " |"


def work(case):
    return sum(layer["flops"] or 0 for layer in case["layers"])


def passes(cases):
    published = "(published, not rerun)"
    heads = ["network", "stored as", "GFLOP", f"ours ms ({cases[0]['time_source']})", "ours ms (predicted)", f"GPU ms {published}", f"CPU ms, 4 threads {published}"]
    heads += ["ours simulated / published GPU", "ours simulated / published CPU", "ours GFLOP/s (simulated)", "GPU GFLOP/s (published time)"]
    lines = [row(heads), "|---" * len(heads) + "|"]
    for case in cases:
        gpu, cpu = (1e-3 * value for value in PUBLISHED[case["name"]])
        count = work(case)
        cells = [case["name"], case["dtype"], f"{1e-9 * count:.2f}", f"{1e3 * case['time_s']:.2f}", f"{1e3 * case['predicted_s']:.2f}", f"{1e3 * gpu:.2f}", f"{1e3 * cpu:.2f}"]
        cells += [f"{case['time_s'] / gpu:.2f}", f"{case['time_s'] / cpu:.2f}", f"{1e-9 * count / case['time_s']:.0f}", f"{1e-9 * count / gpu:.0f}"]
        lines.append(row(cells))
    return lines


def slowest(case):
    heads = ["layer", "operator", "channels, output, window", "simulated us", "share", "GFLOP/s (simulated)", "of the peak", "predicted us", "limited by (predicted)"]
    lines = [f"## {case['name']}, {case['dtype']}: the {SHOWN} of {len(case['layers'])} layers that take most", "", row(heads), "|---" * len(heads) + "|"]
    for layer in case["layers"][:SHOWN]:
        rate = layer["flops"] / layer["time_s"] if layer["flops"] else None
        cells = [layer["name"], layer["op"], layer["shape"], f"{1e6 * layer['time_s']:.0f}", f"{100 * layer['time_s'] / case['time_s']:.1f} %"]
        cells += [f"{1e-9 * rate:.0f}", f"{100 * rate / PEAK:.0f} %"] if rate else ["-", "-"]
        lines.append(row([*cells, f"{1e6 * layer['predicted_s']:.0f}", layer["limiter"]]))
    rest = sum(layer["time_s"] for layer in case["layers"][SHOWN:])
    lines.append(row(["the others", "", "", f"{1e6 * rest:.0f}", f"{100 * rest / case['time_s']:.1f} %", "", "", "", ""]))
    return [*lines, ""]


def winograd(cases):
    """In how many of the networks' layers."""
    count = [sum(own["name"].startswith("winograd") for own in case["sequences"]) for case in cases]
    return ", ".join(f"{number} of {len(case['layers'])} layers of {case['name']} ({case['dtype']})" for number, case in zip(count, cases))


def text(cases):
    took = " and ".join(f"{case['took_s'] / 60:.1f}" for case in cases)
    off = " and ".join(f"{max(own['max_abs_diff'] for own in cases if own['dtype'] == dtype):.0e} ({dtype})" for dtype in DTYPES)
    reached = " and ".join(f"{100 * work(case) / 1e-3 / PUBLISHED[case['name']][0] / PEAK:.0f}" for case in cases if case["dtype"] == DTYPES[0])
    verified = "every kernel was verified" if all(case["verified"] for case in cases) else "not every kernel could be verified"
    return "\n".join([
        "# Whole networks on the simulated Adreno 640 beside a real one",
        "",
        f"Made by `bench/phones.py` on {time.strftime('%Y-%m-%d')}: `optimize` on {DEVICE} ({cases[0]['driver']}), judged by the profile {cases[0]['profile']},",
        "from an empty store, nothing tuned;",
        f"{verified}, outputs of the networks are at most {off} off. That took {took} minutes on {os.cpu_count()} cores.",
        "No time here was measured on a phone by this project.",
        "",
        *passes(cases),
        "",
        "A ratio below 1 says that the simulator is faster than the published run, not that this engine is. What differs:",
        "",
        "- The published times are averages of a public inference engine's own benchmark, with Vulkan and f16 storage. It is another engine with other",
        "  kernels. f16s stores halves and computes in f32; what the published runs compute in is not known here. Our weights are random.",
        f"- Ours is one image of {SHAPE[2]} x {SHAPE[3]} at a time. The published runs are taken to be the same: what is known of them here names neither.",
        "- The simulator's silicon is made of recordings of small kernels on a Pixel 4; the numbers counted above are assumed. No time of a whole network on such",
        "  a phone went into it. Its clock is always 585 MHz: neither heat nor what governs a phone's clock is simulated.",
        "- A launch costs 3.2 us, kernels follow each other without a gap, and nothing is copied to or from the GPU. What a driver does beyond that is not",
        "  in our times. How much of it is in the published ones is unknown.",
        "- Kernels with many work-groups are simulated in part, by rounds that stand for the others: of 200 test kernels 95 of 100",
        "  are within 1.6 % of a whole simulation, the worst is 20 % off (`cargo run --release -p warpsight-engine --example sampled`).",
        f"- Rates count the operations of direct convolutions. An engine that uses Winograd's does fewer than are counted: ours in {winograd(cases)}.",
        f"- The published GPU times reach {reached} % of the f32 peak of {1e-9 * PEAK:.1f} GFLOP/s, and the CPU of that phone is faster on both networks. So they are",
        "  what one engine reached there, not what the chip can do.",
        "",
        "`-` stands where an operator has no products.",
        "",
        *(line for case in cases for line in slowest(case)),
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpsight", type=Path, default=TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--only", action="append", choices=PUBLISHED, help="one of the networks, may be repeated; the file is not written then")
    parser.add_argument("--timeout", type=float, default=2400, help="seconds for one network (default: %(default)g)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all layers as JSON too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warpsight-phones-") as folder:
        cases = [simulate(args, name, dtype, Path(folder)) for name in args.only or PUBLISHED for dtype in DTYPES]
    page = text(cases)
    print(page)
    write_json(args.json, cases)
    if not args.only:
        (Path(__file__).parent / "phones.md").write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
