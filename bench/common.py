"""What verify.py and latency.py share: the shipped model, how to call the command, and tables."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MODEL = ROOT / "models" / "text-orientation.onnx"
SHAPE = "x=1,3,48,192"


def add_arguments(parser, profile):
    """Arguments of both programs; `profile` is the cargo profile whose command is the default."""
    parser.add_argument("--warpsight", type=Path, default=TARGET / profile / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--model", type=Path, default=MODEL, help="an ONNX file (default: %(default)s)")
    parser.add_argument("--input-shape", default=SHAPE, metavar="NAME=D,D,...", help="its input (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table as JSON too")


def parse_shape(text):
    """`x=1,3,48,192` as ("x", (1, 3, 48, 192))."""
    name, _, sizes = text.partition("=")
    try:
        return name, tuple(int(size) for size in sizes.split(","))
    except ValueError:
        sys.exit(f"error: --input-shape {text}: expected NAME=D,D,...")


def call(command, timeout, more=None):
    """Runs a command, with `more` in its environment; returns (standard output, None), or (None, why it failed)."""
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, env=os.environ | (more or {})
        )
    except FileNotFoundError:
        sys.exit(f"error: no command `{command[0]}`; build it first, or name it with --warpsight")
    except subprocess.TimeoutExpired:
        return None, f"did not end within {timeout} s"
    if done.returncode != 0:
        return None, f"exit code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
    return done.stdout, None


def print_table(head, rows):
    """Columns as wide as their content; the first one to the left, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for n, row in enumerate(cells):
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip())
        if n == 0:
            print("  ".join("-" * w for w in widths))


def write_json(path, value):
    """Writes beside the file first, so that an interrupted run leaves no half of one."""
    if path is None:
        return
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value, indent=2) + "\n")
    part.replace(path)
