#!/usr/bin/env python3
"""Kernels on an OpenCL device that is a CPU, beside the best that others have on the same cores. Makes bench/kernels.md.

    cargo build --release --bin warpsight --example peak -p warpsight -p warpsight-run && .venv/bin/python bench/kernels.py

Each round measures the peak of multiply-adds, the peers and ours, one after the other; medians over rounds. Ours are the configurations
that the model picks unmeasured, unless a column says otherwise. Rates are per second of the wall's clock and per second of processor time,
times the cores: the second says what a kernel would reach on a machine that nobody else uses.

Two peers of the matrix products run on the same OpenCL device and are optional, `-` where they are not installed (tinygrad knows devices of
the first platform only):

    apt-get install --no-install-recommends libclblast1 && .venv/bin/python -m pip install -r bench/requirements-peers.txt
"""

import argparse
import ctypes
import functools
import importlib.metadata
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

# OpenBLAS does not know every CPU and takes kernels of half the speed then; read when numpy is loaded. Its kernels for AVX-512 end a
# process where there is none.
AVX512 = "avx512f" in Path("/proc/cpuinfo").read_text()
os.environ["OPENBLAS_CORETYPE"] = "SKYLAKEX" if AVX512 else "HASWELL"
# tinygrad searches nothing; read when it is loaded.
os.environ["BEAM"] = os.environ["JITBEAM"] = "0"

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

from architectures import BUILDERS  # noqa: E402
from common import MODEL, SHAPE, TARGET, call, parse_shape, write_json  # noqa: E402
from latency import peer  # noqa: E402
from networks import MASK, NETWORKS, WORDS  # noqa: E402

CORES = len(os.sched_getaffinity(0))
SGEMM = [(512, 512, 512), (1024, 1024, 1024), (1000, 1000, 1000), (509, 521, 523), (64, 1000, 320)]
# (channels, extent, filters, kernel, stride) of the dense convolutions of ResNet-18 and MobileNetV2 at 224, each once.
RESNET = [(3, 224, 64, 7, 2), (64, 56, 64, 3, 1), (64, 56, 128, 3, 2), (128, 28, 128, 3, 1), (128, 28, 256, 3, 2)]
RESNET += [(256, 14, 256, 3, 1), (256, 14, 512, 3, 2), (512, 7, 512, 3, 1), (64, 56, 128, 1, 2), (128, 28, 256, 1, 2), (256, 14, 512, 1, 2)]
MOBILE = [(3, 224, 32, 3, 2), (32, 112, 16, 1, 1), (16, 112, 96, 1, 1), (96, 56, 24, 1, 1), (24, 56, 144, 1, 1), (144, 56, 24, 1, 1)]
MOBILE += [(144, 28, 32, 1, 1), (32, 28, 192, 1, 1), (192, 28, 32, 1, 1), (192, 14, 64, 1, 1), (64, 14, 384, 1, 1), (384, 14, 64, 1, 1)]
MOBILE += [(384, 14, 96, 1, 1), (96, 14, 576, 1, 1), (576, 14, 96, 1, 1), (576, 7, 160, 1, 1), (160, 7, 960, 1, 1), (960, 7, 160, 1, 1)]
MOBILE += [(960, 7, 320, 1, 1), (320, 7, 1280, 1, 1)]
# (channels, extent, stride), 3 x 3.
DEPTHWISE = [(32, 112, 1), (96, 112, 2), (144, 56, 1), (144, 56, 2), (192, 28, 1), (192, 28, 2), (384, 14, 1), (576, 14, 1), (576, 14, 2), (960, 7, 1)]
# A product is off by some 1e-7, and by 1e-3 where it was rounded to half precision.
WRONG = 1e-5
ROWS = [
    "softmax n=1024 c=1000",
    "softmax n=64 c=128256",
    "softmax n=8 c=1000000",
    "layernorm n=1024 c=1024",
    "layernorm n=64 c=128256",
    "matmul m=1 n=1 k=4000000 weights=none",
    "maxpool n=1 c=64 h=112 w=112 r=3 s=3 stride=2 pad=1",
    "avgpool n=1 c=192 h=28 w=28 r=3 s=3 stride=1 pad=1",
    "relu n=1024 c=1000",
    "add n=1024 c=1000",
]


def timed(run, runs):
    """Seconds of a call: median by the wall's clock, mean of processor time, which kernels tell of other threads in coarse steps only."""
    run()
    start = time.perf_counter()
    run()
    calls = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
    wall = []
    processor = time.process_time()
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        wall.append((time.perf_counter() - start) / calls)
    return statistics.median(wall), (time.process_time() - processor) / runs / calls


def session(nodes, inputs, outputs, constants, feed=None):
    graph = helper.make_graph(
        nodes,
        "one",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = CORES
    one = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feed = feed or {name: rng.standard_normal(shape).astype(np.float32) for name, shape in inputs.items()}
    return lambda: one.run(None, feed)


def numbers(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


@functools.cache
def clblast(device):
    """A queue of the OpenCL device and the library, or None where one of them is not installed."""
    try:
        import pyopencl

        library = ctypes.CDLL("libclblast.so.1")
    except (ImportError, OSError):
        return None
    devices = [found for platform in pyopencl.get_platforms() for found in platform.get_devices()]
    context = pyopencl.Context([devices[device]])
    return pyopencl, context, pyopencl.CommandQueue(context), library


def clblast_product(device, a, b):
    """`CLBlastSgemm` with the parameters it comes with, from a call to the end of the queue."""
    if clblast(device) is None:
        return None
    cl, context, queue, library = clblast(device)
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n), np.float32)
    flags = cl.mem_flags.READ_WRITE
    x, y = (cl.Buffer(context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=own) for own in (a, b))
    z = cl.Buffer(context, flags, c.nbytes)
    size, real, handle = ctypes.c_size_t, ctypes.c_float, lambda own: ctypes.c_void_p(own.int_ptr)
    rows, plain = ctypes.c_int(101), ctypes.c_int(111)

    def run():
        sizes = rows, plain, plain, size(m), size(n), size(k)
        operands = real(1), handle(x), size(0), size(k), handle(y), size(0), size(n), real(0), handle(z), size(0), size(n)
        status = library.CLBlastSgemm(*sizes, *operands, ctypes.byref(handle(queue)), None)
        if status:
            sys.exit(f"error: CLBlastSgemm: status {status}")
        queue.finish()

    def result():
        cl.enqueue_copy(queue, c, z)
        return c

    return run, result


def tinygrad_product(device, a, b):
    """A captured `@` on tinygrad's OpenCL device, from a call to the end of its queue; None where it is not installed."""
    try:
        from tinygrad import Device, Tensor, TinyJit
    except ImportError:
        return None
    name = f"CL:{device}"
    a, b = (Tensor(x, device=name).realize() for x in (a, b))
    product = TinyJit(lambda x, y: (x @ y).realize())
    # The second call is the one that is captured.
    for _ in range(3):
        c = product(a, b)
    return lambda: (product(a, b), Device[name].synchronize()), c.numpy


def checked(made, exact):
    """What runs a peer, or what stands in its column instead: its first result has to be right."""
    if made is None:
        return "-"
    run, result = made
    run()
    error = np.linalg.norm(result() - exact) / np.linalg.norm(exact)
    return run if error < WRONG else "wrong"


def sgemm(m, n, k, device):
    a, b, c = numbers(m, k), numbers(k, n), np.empty((m, n), np.float32)
    matmul = [helper.make_node("MatMul", ["a", "b"], ["c"])]
    onnx_run = session(matmul, {"a": (m, k), "b": (k, n)}, ["c"], {}, {"a": a, "b": b})
    made = {
        "OpenBLAS": (lambda: np.matmul(a, b, out=c), lambda: c),
        "onnxruntime": (onnx_run, lambda: onnx_run()[0]),
        "CLBlast": clblast_product(device, a, b),
        "tinygrad": tinygrad_product(device, a, b),
    }
    exact = a.astype(np.float64) @ b
    peers = {name: checked(one, exact) for name, one in made.items()}
    return {"name": f"{m} x {n} x {k}", "op": f"matmul m={m} n={n} k={k} weights=none", "flops": 2 * m * n * k, "peers": peers}


def conv(c, extent, k, r, stride, groups=1):
    out = (extent + 2 * (r // 2) - r) // stride + 1
    attributes = {"kernel_shape": [r, r], "strides": [stride] * 2, "pads": [r // 2] * 4, "group": groups}
    node = helper.make_node("Conv", ["x", "f"], ["y"], **attributes)
    peer = session([node], {"x": (1, c, extent, extent)}, ["y"], {"f": numbers(k, c // groups, r, r)})
    sizes = f"n=1 c={c} h={extent} w={extent}"
    window = f"r={r} s={r} stride={stride} pad={r // 2}"
    op = f"conv2d {sizes} k={k} {window}" if groups == 1 else f"dwconv2d {sizes} {window}"
    name = f"{c} x {extent}² to {k}, {r} x {r}" + (f" / {stride}" if stride > 1 else "")
    return {"name": name, "op": op, "flops": 2 * out * out * k * (c // groups) * r * r, "peers": {"onnxruntime": peer}}


def rows(op):
    """An operator that moves more than it computes: its peer, and a copy of as many bytes as it has to read and write."""
    kind, *words = op.split()
    sizes = {key: int(value) for key, value in (word.split("=") for word in words if not word.startswith("weights"))}
    n, c, h, w, k = (sizes.get(key, 1) for key in "nchwk")
    shapes, constants, attributes = {"x": (n, c)}, {}, {}
    if kind == "softmax":
        name, out, attributes = "Softmax", n * c, {"axis": 1}
    elif kind == "layernorm":
        name, out, constants, attributes = "LayerNormalization", n * c, {"s": numbers(c), "b": numbers(c)}, {"axis": 1}
    elif kind == "matmul":
        name, out, shapes = "MatMul", sizes["m"] * n, {"x": (sizes["m"], k), "b": (k, n)}
    elif kind == "add":
        name, out, shapes = "Add", n * c, {"x": (n, c), "b": (n, c)}
    elif kind == "relu":
        name, out = "Relu", n * c
    else:
        r, s, stride, pad = (sizes[key] for key in ("r", "s", "stride", "pad"))
        name, shapes = {"maxpool": "MaxPool", "avgpool": "AveragePool"}[kind], {"x": (n, c, h, w)}
        attributes = {"kernel_shape": [r, s], "strides": [stride] * 2, "pads": [pad] * 4}
        out = n * c * ((h + 2 * pad - r) // stride + 1) * ((w + 2 * pad - s) // stride + 1)
    peer = session([helper.make_node(name, [*shapes, *constants], ["y"], **attributes)], shapes, ["y"], constants)
    x = numbers((sum(math.prod(shape) for shape in shapes.values()) + out) // 2)
    y = np.empty_like(x)
    return {"name": op, "op": op, "bytes": 8 * x.size, "peers": {"copy": lambda: np.copyto(y, x), "onnxruntime": peer}}


def ours(args, op, store, top=1):
    command = [args.warpsight, "optimize", "--op", op, "--device", args.device, "--json", "--runs", args.runs, "--top", top, "--store", store]
    start = time.perf_counter()
    text, why = call(command, args.timeout)
    if why:
        sys.exit(f"error: warpsight optimize --op {op!r}: {why}")
    chosen = json.loads(text)["chosen"]
    return {key: chosen[key] for key in ("time_s", "cpu_s", "predicted_s", "config")} | {"took_s": time.perf_counter() - start}


def medians(samples):
    return {who: tuple(statistics.median(column) for column in zip(*rounds)) for who, rounds in samples.items()}


def measure(args, cases, store):
    """Fills each case's `peak`, `ours` and `found` with medians over rounds."""
    for number, case in enumerate(cases):
        runs = {name: run for name, run in case["peers"].items() if callable(run)}
        samples = {"peak": [], "ours": [], **{name: [] for name in runs}}
        for _ in range(args.rounds):
            text, why = call([args.peak, args.device], args.timeout)
            if why:
                sys.exit(f"error: {args.peak}: {why}")
            peak = json.loads(text)
            samples["peak"].append((peak["flops"], peak["cpu_flops"] * CORES))
            for name, run in runs.items():
                samples[name].append(timed(run, args.runs))
            one = ours(args, case["op"], store)
            samples["ours"].append((one["time_s"], one["cpu_s"]))
            case.update(predicted_s=one["predicted_s"], took_s=one["took_s"], config=one["config"])
        case["median"] = medians(samples)
        print(f"{number + 1} of {len(cases)}: {case['name']}", file=sys.stderr)
    return cases


def drawn(model):
    """An array for each input of a model: numbers, words below what tables of small ones have."""
    rng = np.random.default_rng(1)
    shapes = {own.name: [d.dim_value for d in own.type.tensor_type.shape.dim] for own in model.graph.input}
    whole = {WORDS: 20, MASK: 2}
    return {n: rng.integers(0, whole[n], shape) if n in whole else rng.standard_normal(shape).astype(np.float32) for n, shape in shapes.items()}


def shipped():
    """The network in this repository, of one size."""
    (name, shape), model = parse_shape(SHAPE), onnx.load(MODEL)
    given = next(own for own in model.graph.input if own.name == name)
    for dim, size in zip(given.type.tensor_type.shape.dim, shape):
        dim.dim_value = size
    return model


def networks(builders):
    """What measures whole networks, inputs in to outputs out, nothing tuned: `optimize` from an empty store, then `run` with what it stored."""
    return lambda args, folder: [network(args, folder, name, build()) for name, build in builders.items()]


def network(args, folder, name, model):
    path, store, feed, given = folder / "network.onnx", folder / f"{name}.sqlite", drawn(model), []
    onnx.save(model, path)
    for key, values in feed.items():
        np.save(folder / f"{key}.npy", values)
        given += ["--input", f"{key}={folder / key}.npy"]
    common = ["--device", args.device, "--store", store]
    # Nothing is known of host or kernels: what is cold is cold.
    caches = {"XDG_CACHE_HOME": str(folder / f"{name}-cache"), "POCL_CACHE_DIR": str(folder / f"{name}-pocl")}

    def ours(verb, *more):
        start = time.perf_counter()
        text, why = call([args.warpsight, verb, path, *common, *more], args.timeout, caches)
        if why:
            sys.exit(f"error: warpsight {verb} {name}: {why}")
        return text, time.perf_counter() - start

    case, warm = {"name": name}, []
    samples = {"onnxruntime": [], "ours": []}
    for _ in range(args.rounds):
        wall, processor, results = peer(path, feed, CORES, args.runs)
        samples["onnxruntime"].append((statistics.median(wall), statistics.mean(processor), min(wall)))
        text, took = ours("optimize", "--json", "--runs", args.runs)
        found = json.loads(text)
        # Later rounds know what the first one stored.
        case.setdefault("cold_s", took)
        for part in ("choosing_s", "compiling_s"):
            case.setdefault(part, found["network"][part])
        samples["ours"].append(tuple(found["network"][key] for key in ("time_s", "cpu_s", "fastest_s")))
        warm.append(ours("run", *given, "--output", folder / "out")[1])
        exact = results[0].astype(np.float64)
        result = model.graph.output[0].name.replace("/", "_")
        off = np.linalg.norm(np.load(folder / "out" / f"{result}.npy") - exact) / np.linalg.norm(exact)
        kernels = sum(len(own["nodes"]) for own in found["operators"])
        case.update(predicted_s=found["network"]["predicted_s"], off=float(off), kernels=kernels)
    case["median"], case["warm_s"] = medians(samples), statistics.median(warm)
    print(name, file=sys.stderr)
    return case


def passes(cases):
    heads = ["network", "kernels", "onnxruntime ms", "ours ms", "times its", "times its, processor time"]
    heads += ["its fastest ms", "our fastest ms", "predicted ms", "off its results", "optimize, cold s", "of it choosing", "of it compiling, verifying, timing", "run, warm s"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for case in cases:
        (wall, processor, fastest), (other, other_cpu, its) = case["median"]["ours"], case["median"]["onnxruntime"]
        cells = [case["name"], str(case["kernels"]), f"{1e3 * other:.2f}", f"{1e3 * wall:.2f}", f"{wall / other:.2f}", f"{processor / other_cpu:.2f}"]
        cells += [f"{1e3 * its:.2f}", f"{1e3 * fastest:.2f}", f"{1e3 * case['predicted_s']:.2f}", f"{case['off']:.0e}", f"{case['cold_s']:.0f}", f"{case['choosing_s']:.1f}", f"{case['compiling_s']:.1f}", f"{case['warm_s']:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def rate(case, who):
    """GF/s by the wall and by processor time."""
    wall, processor = case["median"][who]
    return case["flops"] / wall * 1e-9, case["flops"] * CORES / processor * 1e-9


def share(ours, other):
    return f"{100 * ours / other:.0f} %"


def geometric(values):
    return float(np.exp(np.mean(np.log(values))))


def strongest_first(cases):
    """Names of the peers by the rates they reach in the mean; those without one last."""

    def mean(name):
        rates = [rate(case, name)[0] for case in cases if name in case["median"]]
        return geometric(rates) if rates else 0.0

    return sorted(cases[0]["peers"], key=mean, reverse=True)


def products(cases):
    names = strongest_first(cases)
    lines = ["| m x n x k | peak GF/s | " + " | ".join(f"{n} GF/s" for n in names) + " | ours GF/s | of the peak | of the peak, processor time | predicted us | measured us |"]
    lines += ["|---" * (len(names) + 7) + "|"]
    for case in cases:
        peak, peak_cpu = (value * 1e-9 for value in case["median"]["peak"])
        wall, processor = rate(case, "ours")
        others = [f"{rate(case, n)[0]:.{0 if rate(case, n)[0] >= 10 else 1}f}" if n in case["median"] else case["peers"][n] for n in names]
        cells = [case["name"], f"{peak:.0f}", *others, f"{wall:.0f}"]
        cells += [share(wall, peak), share(processor, peak_cpu), f"{1e6 * case['predicted_s']:.0f}", f"{1e6 * case['median']['ours'][0]:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, "", *remarks(cases)]


def remarks(cases):
    """What stands under the matrix products: how the peers on the OpenCL device ran, or how to install them."""
    states = {name: {"ran" if callable(case["peers"][name]) else case["peers"][name] for case in cases} for name in cases[0]["peers"]}
    lacking = [name for name, seen in states.items() if "-" in seen]
    lines = ["Peers from the one with the highest mean rate down. Those on the same OpenCL device as ours are timed from a call to the end of their queue."]
    if "CLBlast" not in lacking:
        lines += [f"CLBlast {Path(loaded('libclblast')).name.partition('.so.')[2]} has the parameters it comes with: it was not tuned on this device."]
    if "tinygrad" not in lacking:
        lines += [f"tinygrad {importlib.metadata.version('tinygrad')} runs with `TinyJit` and `BEAM=0`: it searches nothing."]
    if lacking:
        install = "`apt-get install --no-install-recommends libclblast1 && .venv/bin/python -m pip install -r bench/requirements-peers.txt`"
        lines += [f"`-`: {' and '.join(lacking)} not installed here; {install}."]
    if any("wrong" in seen for seen in states.values()):
        lines += [f"`wrong`: the result is more than {WRONG:.0e} (relative, L2) off numpy's in double precision."]
    return lines


def loaded(name):
    """The file of a library in this process."""
    return next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if name in line)


def convolutions(cases):
    lines = ["| layer | onnxruntime GF/s | ours GF/s | of its rate | the same, processor time | predicted us | measured us |", "|---" * 7 + "|"]
    ratios = [], []
    for case in cases:
        (wall, processor), (other, other_cpu) = rate(case, "ours"), rate(case, "onnxruntime")
        ratios[0].append(wall / other)
        ratios[1].append(processor / other_cpu)
        cells = [case["name"], f"{other:.1f}", f"{wall:.1f}", share(wall, other), share(processor, other_cpu)]
        cells += [f"{1e6 * case['predicted_s']:.0f}", f"{1e6 * case['median']['ours'][0]:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    means = [f"{100 * geometric(r):.0f} %, worst {100 * min(r):.0f} %" for r in ratios]
    return [*lines, f"| geometric mean | | | {means[0]} | {means[1]} | | |"]


def streams(cases):
    lines = ["| operator | copy us | onnxruntime us | ours us | copies | copies, processor time | predicted us |", "|---" * 7 + "|"]
    for case in cases:
        (copy, copy_cpu), (wall, processor) = case["median"]["copy"], case["median"]["ours"]
        micros = [f"{1e6 * value:.0f}" for value in (copy, case["median"]["onnxruntime"][0], wall)]
        # numpy copies on one core: by processor time both sides count all that they use.
        cells = [case["name"], *micros, f"{wall / copy:.1f}", f"{processor / copy_cpu:.1f}", f"{1e6 * case['predicted_s']:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def accuracy(found):
    """What kernels take, by processor time over the cores, against what is predicted: of those that outlast what a launch costs, and of others."""
    cases = [case for part, own in found.items() if part in PARTS and part != "networks" for case in own]
    lines = []
    for title, long in [("of 100 us or more", True), ("shorter", False)]:
        ratios = [case["median"]["ours"][1] / CORES / case["predicted_s"] for case in cases if (case["predicted_s"] >= 1e-4) == long]
        if ratios:
            factors = [max(r, 1 / r) for r in ratios]
            within = sum(f <= 1.2 for f in factors)
            lines += [f"Predicted {title}: {len(ratios)} kernels, geometric error x{geometric(factors):.2f} of processor time, {within} within 20 %, worst x{max(factors):.2f}."]
    return lines


def operators(make, sizes):
    """What measures an operator of each size, given arguments and a folder."""
    return lambda args, folder: measure(args, [make(*own) for own in sizes], folder / "store.sqlite")


def on_opencl(args, folder):
    """The matrix products; their peers need the number of the OpenCL device."""
    kind, _, number = args.device.partition(":")
    if kind != "opencl":
        sys.exit(f"error: --device {args.device}: expected opencl:N")
    return measure(args, [sgemm(*own, int(number)) for own in SGEMM], folder / "store.sqlite")


PARTS = {
    "sgemm": ("Matrix products, both operands plain row-major inputs", on_opencl, products),
    "resnet": ("Dense convolutions of ResNet-18", operators(conv, RESNET), convolutions),
    "mobile": ("Dense convolutions of MobileNetV2", operators(conv, MOBILE), convolutions),
    "depthwise": ("Depthwise convolutions of MobileNetV2", operators(conv, [(c, e, c, 3, s, c) for c, e, s in DEPTHWISE]), convolutions),
    "rows": ("Rows, beside a copy of what they read and write", operators(rows, [(op,) for op in ROWS]), streams),
    "networks": ("Networks, nothing tuned", networks(NETWORKS | {"text-orientation": shipped}), passes),
}
# With --only: half an hour.
FURTHER = {"architectures": ("Networks that others designed, nothing tuned", networks(BUILDERS), passes)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpsight", type=Path, default=TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--peak", type=Path, default=TARGET / "release" / "examples" / "peak", help="the example `peak` (default: %(default)s)")
    parser.add_argument("--device", default="opencl:0", help="an OpenCL device on these cores (default: %(default)s)")
    parser.add_argument("--only", action="append", choices=PARTS | FURTHER, help="one of the tables, may be repeated; the file is not written then")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each row (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=21, help="runs in a round (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one command (default: %(default)g)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    args = parser.parse_args()
    lines, found = [], {}
    with tempfile.TemporaryDirectory(prefix="warpsight-kernels-") as folder:
        for key in args.only or PARTS:
            title, measured_in, table = (PARTS | FURTHER)[key]
            measured = measured_in(args, Path(folder))
            lines += [f"## {title}", "", *table(measured), ""]
            found[key] = [{k: v for k, v in case.items() if k != "peers"} for case in measured]
    if accuracy(found):
        lines += ["## Predicted against measured", "", *accuracy(found), ""]
    head = [
        "# Kernels on a CPU's OpenCL beside the best of others",
        "",
        f"Made by `bench/kernels.py` on {time.strftime('%Y-%m-%d')}: {args.device} on {CORES} cores, onnxruntime {onnxruntime.__version__} and OpenBLAS of numpy",
        f"{np.__version__} forced to {'AVX-512' if AVX512 else 'AVX2'} on the same. Ours are picks of the model that nothing was measured for; medians of {args.rounds} rounds of {args.runs} runs.",
        "Everything but `predicted` is measured.",
        "",
    ]
    text = "\n".join(head + lines)
    print(text)
    write_json(args.json, found)
    if not args.only:
        (Path(__file__).parent / "kernels.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
