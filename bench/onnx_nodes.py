"""Runs the node tests that come with the package `onnx` and says which are right: models, inputs and results that nobody here wrote.

    cargo build --release -p warpsight && .venv/bin/python bench/onnx_nodes.py [--device sim:adreno640] [--only SUBSTRING] [--every N]

Needs bench/requirements.txt. Each test is a model of one operator, or of what its definition expands to. Lists that have to be known before a run
are given as values (`--input-value`). What is refused is counted by what
is said; a result that is off, and an exit code that is neither 0 nor 2, are told one by one, and the exit code is 1 then. Writes
bench/onnx_nodes.md where all tests were run.
"""

import argparse
import collections
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
TESTS = pathlib.Path(onnx.__file__).parent / "backend/test/data"
KINDS = ["node", "simple", "pytorch-operator", "pytorch-converted"]
# Relative L2; of results in halves and shorter floats, which these tests round once, we after each operator.
TOLERANCE, SHORT = 1e-5, 1e-2
# What is compared with what onnx computed in float32 one after the other: sums of some hundred terms are off by more. What is written there with
# four digits behind the point. And a sum of 6,480 terms that are five numbers in turn, whose roundings do not cancel, in one variable of ours.
LONG = {
    "node/test_averagepool_2d_ceil_last_window_starts_on_pad": 2e-4,
    "node/test_gridsample_bicubic": 5e-5,
    "node/test_nllloss_NCd1d2d3d4d5_mean_weight_expanded": 5e-5,
}
# What onnxruntime does otherwise than these tests, and we as onnxruntime.
ENDS = "corners are those of whole elements, where they are expected beyond them by what scales leave"
OTHERWISE = {
    "node/test_l2normalization_axis_0": "rows of zeros stay zeros, where 0 / 0 is expected",
    "node/test_resize_downsample_scales_cubic_align_corners": ENDS,
    "node/test_resize_downsample_scales_linear_align_corners": ENDS,
}


def tensor(path):
    proto = onnx.TensorProto.FromString(path.read_bytes())
    return numpy_helper.to_array(proto)


def asked(folder, model, scratch, known=False):
    """Arguments of `run`, or why a test cannot be stated so; `known`: lists are constants, of floats those that are not first."""
    files = sorted(folder.glob("test_data_set_0/input_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    arguments = []
    for at, (value, path) in enumerate(zip(model.graph.input, files)):
        if not value.type.HasField("tensor_type"):
            return None, "inputs that are no tensors"
        array = tensor(path)
        if array.dtype.kind not in "fiub":
            # Types that NumPy lacks are given as the numbers that they are.
            try:
                array = array.astype(np.float32)
            except (TypeError, ValueError):
                return None, "inputs that are no numbers"
        # What is not first is no data: axes, sizes, scales.
        if known and array.ndim < 2 and (array.dtype.kind in "iu" or at and array.dtype == np.float32):
            arguments += ["--input-value", value.name + "=" + ",".join(map(str, array.reshape(-1)))]
            continue
        if array.dtype.kind in "iu" and array.dtype.itemsize > 4:
            array = array.astype(np.int64)
        np.save(scratch / f"{at}.npy", array)
        arguments += ["--input", f"{value.name}={scratch / str(at)}.npy"]
        if any(not own.HasField("dim_value") for own in value.type.tensor_type.shape.dim) and array.ndim:
            arguments += ["--input-shape", value.name + "=" + ",".join(map(str, array.shape))]
    return (arguments, None) if arguments else (None, "no inputs")


def off(model, folder, out):
    """How far results are from what is expected, at most."""
    worst = 0.0
    for at, value in enumerate(model.graph.output):
        want = tensor(folder / f"test_data_set_0/output_{at}.pb").astype(np.float64)
        have = np.load(out / (value.name.replace("/", "_") + ".npy")).astype(np.float64)
        if have.shape != want.shape:
            return np.inf
        finite = np.isfinite(want)
        if not np.isfinite(have[finite]).all():
            return np.inf
        if not np.array_equal(have[~finite], want[~finite], equal_nan=True):
            return np.inf
        norm = np.linalg.norm(want[finite])
        worst = max(worst, float(np.linalg.norm(have[finite] - want[finite]) / (norm or 1.0)))
    return worst


def run(test, args, scratch):
    """What became of a test, and more of it."""
    folder = TESTS / test
    try:
        model = onnx.load(folder / "model.onnx")
        for known in (False, True):
            arguments, why = asked(folder, model, scratch, known)
            if why:
                return "not stated", why
            command = [args.warpsight, "run", folder / "model.onnx", *arguments, "--output", scratch / "out", "--device", args.device, "--store", scratch / "store.sqlite", "--json"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            said = json.loads(done.stderr.splitlines()[-1] if done.stderr.strip() else done.stdout)["error"]["message"].splitlines()[0] if done.returncode == 2 else ""
            # Lists that decide shapes are inputs of these tests, for once.
            if "--input-value" not in said and "leaves dimensions" not in said:
                break
    except (TypeError, ValueError) as error:
        return "not stated", str(error).splitlines()[0]
    except subprocess.TimeoutExpired:
        return "failed", "not done within five minutes"
    if done.returncode == 2:
        return "refused", said
    if done.returncode:
        return "failed", f"exit code {done.returncode}: {(done.stderr or done.stdout)[-300:]}"
    kinds = {own.type.tensor_type.elem_type for own in [*model.graph.input, *model.graph.output]}
    allowed = LONG.get(test, SHORT if kinds & {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16} else TOLERANCE)
    found = off(model, folder, scratch / "out")
    if found > allowed and test in OTHERWISE:
        return "otherwise", OTHERWISE[test]
    return ("right", "") if found <= allowed else ("wrong", f"{found:.1e}")


def reason(text):
    text = re.sub(r"--[a-z-]+ \S+", "", re.sub(r"`[^`]*`", "…", text))
    named = re.search(r"operator \w+ \(opset \d+\) is not supported", text)
    return "operators that are not read" if named else re.sub(r"\d+", "n", text)[:90]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="sim:adreno640")
    parser.add_argument("--warpsight", default=HERE.parent / "target/release/warpsight", type=pathlib.Path)
    parser.add_argument("--only", default="", help="tests whose names have this")
    parser.add_argument("--every", type=int, default=1, help="one test in so many")
    args = parser.parse_args()
    tests = [f"{kind}/{own.name}" for kind in KINDS for own in sorted((TESTS / kind).iterdir()) if (own / "test_data_set_0").is_dir()]
    tests = [test for test in tests if args.only in test][:: args.every]
    found, refused, unread = collections.Counter(), collections.Counter(), collections.Counter()
    for at, test in enumerate(tests):
        with tempfile.TemporaryDirectory() as scratch:
            what, more = run(test, args, pathlib.Path(scratch))
        found[what] += 1
        if what in ("wrong", "failed"):
            print(f"{test}: {what}, {more}")
        if what == "refused":
            refused[reason(more)] += 1
            unread.update(re.findall(r"operator (\w+) \(opset", more))
        if at % 100 == 99:
            print(f"{at + 1} of {len(tests)}: {dict(found)}", file=sys.stderr)
    lines = ["# ONNX's own tests of operators", ""]
    lines += [f"Made by `bench/onnx_nodes.py` on {datetime.date.today()}, onnx {onnx.__version__}: {len(tests)} models on {args.device}, each beside the result that comes with it.", ""]
    lines += [f"Right {found['right']}, wrong {found['wrong']}, failed {found['failed']}, refused {found['refused']}, as onnxruntime and not as expected {found['otherwise']}; {found['not stated']} have no inputs or inputs that `run` has no form for (texts, lists, optional ones).", ""]
    lines += ["## Why tests are refused", "", "| reason | tests |", "|---|---|"]
    lines += [f"| {why} | {count} |" for why, count in refused.most_common()]
    lines += ["", "Operators that are not read: " + ", ".join(f"{name} ({count})" for name, count in sorted(unread.items())) + "."]
    print("\n".join(lines))
    if not args.only and args.every == 1 and args.device == parser.get_default("device"):
        (HERE / "onnx_nodes.md").write_text("\n".join(lines) + "\n")
    sys.exit(1 if found["wrong"] + found["failed"] else 0)


if __name__ == "__main__":
    main()
