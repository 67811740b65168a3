#!/usr/bin/env python3
"""Compares what `warpsight run` computes with onnxruntime, output by output.

Exit code 0: every output of every input on every device agrees; 1: one does not; 2: usage.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw

from common import add_arguments, call, parse_shape, print_table, write_json

# The outputs are probabilities; the project promises this much on every device.
TOLERANCE = 1e-4


def picture(shape, upside_down):
    """A grey picture that looks like a line of text, as bytes of height x width."""
    _, _, height, width = shape
    image = Image.new("L", (width, height), 230)
    draw = ImageDraw.Draw(image)
    random = np.random.default_rng(5)
    x = 4
    while x < width - 12:
        letter = int(random.integers(5, 12))
        top, bottom = height // 4 + int(random.integers(0, 6)), 3 * height // 4
        draw.rectangle([x, top, x + letter, bottom], outline=30, width=2)
        draw.line([x, bottom, x + letter, top], fill=60, width=1)
        x += letter + int(random.integers(2, 8))
    return np.asarray(image.rotate(180) if upside_down else image)


def planes(grey):
    """The picture as the network wants it: three equal planes in -1..1, so that the order of the colours does not matter."""
    plane = (grey.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.5)
    return np.stack([plane] * 3)[np.newaxis]


def inputs(shape, folder, seeds, words):
    """(label, file for the command, array for onnxruntime) of every input; of whole numbers below `words` where the model takes words."""
    cases = []

    def add(label, array, file=None):
        if file is None:
            file = folder / f"{label}.npy"
            np.save(file, array)
        cases.append((label, file, array))

    if words:
        for seed in range(seeds):
            add(f"words-{seed}", np.random.default_rng(seed).integers(0, words, shape, np.int64))
        for label, value in [("first", 0), ("last", words - 1)]:
            add(label, np.full(shape, value, np.int64))
        return cases
    for seed in range(seeds):
        add(f"normal-{seed}", np.random.default_rng(seed).standard_normal(shape).astype(np.float32))
    if len(shape) == 4 and shape[:2] == (1, 3):
        for label, upside_down in [("picture", False), ("picture-turned", True)]:
            grey = picture(shape, upside_down)
            add(label, planes(grey))
            # The same as a file of exactly the network's size, so that only layout, scale, mean and deviation are compared.
            png = folder / f"{label}.png"
            Image.fromarray(np.stack([grey] * 3, axis=-1)).save(png)
            add(f"{label}-png", planes(grey), png)
    for label, value in [("zeros", 0), ("ones", 1), ("minus-ones", -1), ("hundreds", 100)]:
        add(label, np.full(shape, value, np.float32))
    return cases


def find_output(folder, name, alone):
    """The file of an output: its name, with what no file name may hold replaced, or the only file for the only output."""
    files = {file.stem: file for file in folder.glob("*.npy")}
    for candidate in (name, re.sub(r"[^A-Za-z0-9._-]", "_", name)):
        if candidate in files:
            return files[candidate]
    return next(iter(files.values())) if alone and len(files) == 1 else None


def compare(expected, folder):
    """(largest absolute difference over all outputs, why not) of a run's folder."""
    worst = 0.0
    for name, value in expected.items():
        file = find_output(folder, name, len(expected) == 1)
        if file is None:
            return None, f"no .npy for output `{name}`, only {sorted(f.name for f in folder.glob('*'))}"
        got = np.load(file)
        if got.shape != value.shape:
            return None, f"output `{name}` has shape {got.shape}, not {value.shape}"
        if got.dtype != value.dtype:
            return None, f"output `{name}` has type {got.dtype}, not {value.dtype}"
        if not np.isfinite(got).all():
            return None, f"output `{name}` holds {np.count_nonzero(~np.isfinite(got))} values that are no numbers"
        worst = max(worst, float(np.max(np.abs(got.astype(np.float64) - value.astype(np.float64)))))
    return worst, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser, "debug")
    parser.add_argument("--device", action="append", help="may be repeated (default: sim:adreno640 and opencl:0)")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="largest absolute difference (default: %(default)g)")
    parser.add_argument("--words", type=int, default=0, help="the input holds whole numbers below this")
    parser.add_argument("--seeds", type=int, default=3, help="random inputs (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run of the command (default: %(default)g)")
    args = parser.parse_args()
    devices = args.device or ["sim:adreno640", "opencl:0"]
    name, shape = parse_shape(args.input_shape)
    if not args.model.is_file():
        sys.exit(f"error: no file {args.model}")

    session = onnxruntime.InferenceSession(str(args.model), providers=["CPUExecutionProvider"])
    outputs = [output.name for output in session.get_outputs()]
    rows, failures = [], []
    with tempfile.TemporaryDirectory(prefix="warpsight-verify-") as folder:
        folder = Path(folder)
        cases = inputs(shape, folder, args.seeds, args.words)
        expected = [dict(zip(outputs, session.run(None, {name: array}))) for _, _, array in cases]
        # A network that answers the same to everything would pass without being right.
        spread = max(float(np.ptp(np.stack([e[output] for e in expected]), axis=0).max()) for output in outputs)
        if spread < 100 * args.tolerance:
            failures.append(f"the inputs are too alike to tell: outputs differ by {spread:.1e} only")
        for device in devices:
            for (label, file, _), want in zip(cases, expected):
                out = folder / f"{device.replace(':', '-')}-{label}"
                command = [args.warpsight, "run", args.model, "--input", f"{name}={file}", "--output", out, "--device", device]
                _, why = call(command, args.timeout)
                worst, why = (None, why) if why else compare(want, out)
                agrees = worst is not None and worst <= args.tolerance
                rows.append({"device": device, "input": label, "max_abs_diff": worst, "agrees": agrees, "reason": why})
                if not agrees:
                    failures.append(f"{device} {label}: {why or f'differs by {worst:.3e}'}")

    print(f"{args.model.name} against onnxruntime {onnxruntime.__version__}, largest absolute difference allowed {args.tolerance:g}\n")
    shown = [[r["device"], r["input"], "-" if r["max_abs_diff"] is None else f"{r['max_abs_diff']:.2e}", "yes" if r["agrees"] else "NO"] for r in rows]
    print_table(["device", "input", "max abs diff", "agrees"], shown)
    write_json(args.json, {"model": args.model.name, "onnxruntime": onnxruntime.__version__, "tolerance": args.tolerance, "rows": rows})
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    agreed = sum(r["agrees"] for r in rows)
    worst = max((r["max_abs_diff"] for r in rows if r["max_abs_diff"] is not None), default=float("nan"))
    print(f"\nverify: {agreed} of {len(rows)} agree, worst {worst:.2e}, outputs of different inputs differ by {spread:.2e}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
