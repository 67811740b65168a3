#!/usr/bin/env python3
"""Copies and matrix products of PyTorch, CuPy and Triton, as numbers beside ours.

Each library is optional and has its share of the time; a result is kept only beside the outcome of its check. Raw times, in seconds,
by the library's own events; nothing is averaged away. One JSON file, rewritten after every measurement.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time

SIZES = [1 << 22, 1 << 26, 1 << 30]  # bytes copied
ORDERS = [1024, 4096, 8192]  # of matrices
RUNS = 20


class Report:
    """What was measured so far, on the disk."""

    def __init__(self, path, command):
        self.path = path
        self.data = {
            "format": 1,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "command": command,
            "python": platform.python_version(),
            "libraries": {},
            "records": [],
        }

    def library(self, name, **facts):
        self.data["libraries"][name] = facts
        self.write()

    def record(self, library, name, params, amounts, times, outcome):
        self.data["records"].append(
            {
                "library": library,
                "name": name,
                "params": params,
                "amounts": amounts,
                "times_s": times,
                "source": "measured",
                "outcome": outcome,
                "unix_time": int(time.time()),
            }
        )
        self.write()

    def write(self):
        folder = os.path.dirname(os.path.abspath(self.path))
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
        with os.fdopen(handle, "w") as file:
            json.dump(self.data, file, indent=1)
            file.write("\n")
        os.chmod(name, 0o644)
        os.replace(name, self.path)


def judged(ok, what):
    return {"status": "verified"} if ok else {"status": "wrong", "what": what}


def failed(error):
    return {"status": "failed", "why": f"{type(error).__name__}: {error}"[:500]}


def measure(report, library, name, params, amounts, deadline, work):
    """One measurement: `work` returns raw times and whether the result was right."""
    if time.monotonic() > deadline:
        report.record(library, name, params, amounts, [], {"status": "skipped", "why": "time box used up"})
        return
    try:
        times, ok, what = work()
    except Exception as error:  # a library may fail in any way; the next measurement goes on
        report.record(library, name, params, amounts, [], failed(error))
        return
    report.record(library, name, params, amounts, times, judged(ok, what))


def copy_cases(report, library, deadline, copy):
    for size in SIZES:
        measure(
            report, library, "copy", {"bytes": size}, {"bytes": 2 * size}, deadline, lambda size=size: copy(size)
        )


def product_cases(report, library, deadline, dtypes, product):
    for dtype in dtypes:
        for order in ORDERS:
            measure(
                report,
                library,
                "matmul",
                {"m": order, "n": order, "k": order, "dtype": dtype},
                {"operations": 2 * order**3},
                deadline,
                lambda order=order, dtype=dtype: product(order, dtype),
            )


# Rounding of the result and of the products' sum, with inputs in [-1, 1).
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-4, "tf32": 2e-3}


def torch_peer(report, deadline):
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no CUDA device")
    report.library("torch", version=torch.__version__, cuda=torch.version.cuda, device=torch.cuda.get_device_name(0))

    def timed(work):
        for _ in range(3):
            work()
        times = []
        for _ in range(RUNS):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            work()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        return times

    def copy(size):
        source = torch.rand(size // 4, device="cuda")
        target = torch.empty_like(source)
        times = timed(lambda: target.copy_(source))
        return times, bool(torch.equal(source, target)), "the copy differs"

    def product(order, dtype):
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        real = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
        a = (torch.rand(order, order, device="cuda") * 2 - 1).to(real)
        b = (torch.rand(order, order, device="cuda") * 2 - 1).to(real)
        c = torch.empty(order, order, device="cuda", dtype=real)
        times = timed(lambda: torch.matmul(a, b, out=c))
        rows = slice(0, 16)
        expected = a[rows].double() @ b.double()
        scale = (a[rows].double().abs() @ b.double().abs()).clamp(min=1e-30)
        error = float(((c[rows].double() - expected).abs() / scale).max())
        return times, error < TOLERANCE[dtype], f"relative error {error}"

    copy_cases(report, "torch", deadline, copy)
    product_cases(report, "torch", deadline, ["bfloat16", "float16", "tf32", "float32"], product)


def cupy_peer(report, deadline):
    import cupy

    report.library("cupy", version=cupy.__version__, cuda=str(cupy.cuda.runtime.runtimeGetVersion()))

    def timed(work):
        for _ in range(3):
            work()
        times = []
        for _ in range(RUNS):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
        return times

    def copy(size):
        source = cupy.random.random(size // 4, dtype=cupy.float32)
        target = cupy.empty_like(source)
        times = timed(lambda: cupy.copyto(target, source))
        return times, bool((source == target).all()), "the copy differs"

    def product(order, dtype):
        a = (cupy.random.random((order, order), dtype=cupy.float32) * 2 - 1).astype(dtype)
        b = (cupy.random.random((order, order), dtype=cupy.float32) * 2 - 1).astype(dtype)
        c = cupy.empty((order, order), dtype=dtype)
        times = timed(lambda: cupy.matmul(a, b, out=c))
        wide_a, wide_b = a[:16].astype(cupy.float64), b.astype(cupy.float64)
        scale = cupy.maximum(abs(wide_a) @ abs(wide_b), 1e-30)
        error = float((abs(c[:16].astype(cupy.float64) - wide_a @ wide_b) / scale).max())
        return times, error < TOLERANCE[dtype], f"relative error {error}"

    copy_cases(report, "cupy", deadline, copy)
    product_cases(report, "cupy", deadline, ["float16", "float32"], product)


def triton_peer(report, deadline):
    # Triton looks for names that kernels use among those of the module.
    global triton, tl
    import torch
    import triton
    import triton.language as tl

    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no CUDA device")
    report.library("triton", version=triton.__version__)

    @triton.jit
    def copy_kernel(source, target, n, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(target + at, tl.load(source + at, mask=at < n), mask=at < n)

    def copy(size):
        n = size // 4
        source = torch.rand(n, device="cuda")
        target = torch.empty_like(source)

        def work():
            copy_kernel[(triton.cdiv(n, 4096),)](source, target, n, BLOCK=4096)

        for _ in range(3):
            work()
        times = []
        for _ in range(RUNS):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            work()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        return times, bool(torch.equal(source, target)), "the copy differs"

    copy_cases(report, "triton", deadline, copy)


PEERS = [("torch", torch_peer), ("cupy", cupy_peer), ("triton", triton_peer)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--dry-run", action="store_true", help="import nothing; every library is written down as skipped")
    args = parser.parse_args()
    report = Report(args.out, [os.path.basename(sys.argv[0])] + sys.argv[1:])
    end = time.monotonic() + args.seconds
    for position, (name, peer) in enumerate(PEERS):
        if args.dry_run:
            report.library(name, skipped="dry run")
            continue
        now = time.monotonic()
        deadline = now + max(0, end - now) / (len(PEERS) - position)
        try:
            peer(report, deadline)
        except Exception as error:  # one that is missing or broken must not keep the next from running
            report.library(name, **{**report.data["libraries"].get(name, {}), "failed": f"{type(error).__name__}: {error}"[:500]})
            print(f"peers: {name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
