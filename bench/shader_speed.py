#!/usr/bin/env python3
"""How fast `warpsight shader predict` is: one shader from a cold start, and many on two threads, compilation included.

Wall time depends on what else the machine does; processor time (all threads of the command) hardly. Both are printed: on a quiet
machine with N threads, the second divided by N is the first.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENDINGS = {".frag", ".glsl", ".fs"}


def timed(command):
    """Wall and processor seconds of a command, and its JSON."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2):
        sys.exit(f"error: {' '.join(command)}: {done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout or "null")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpsight", default=str(ROOT / "target/release/warpsight"), help="the command (default: %(default)s)")
    parser.add_argument("--shaders", type=Path, default=ROOT / "data/shaders", help="a folder of GLSL (default: %(default)s)")
    parser.add_argument("--model", help="a model in place of the one that ships")
    parser.add_argument("--threads", type=int, default=2, help="for many shaders (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="of each shader alone (default: %(default)s)")
    parser.add_argument("--alone", type=int, default=20, help="shaders that are predicted alone (default: %(default)s)")
    args = parser.parse_args()
    os.chdir(ROOT)
    files = sorted(str(p) for p in args.shaders.rglob("*") if p.suffix in ENDINGS)
    if not files:
        sys.exit(f"error: no shaders in {args.shaders}")
    command = [args.warpsight, "shader", "predict", "--json"] + (["--model", args.model] if args.model else [])
    step = max(1, len(files) // args.alone)
    alone = [[timed(command + [file])[:2] for _ in range(args.runs)] for file in files[::step]]
    walls = [min(run[0] for run in runs) for runs in alone]
    processor = [min(run[1] for run in runs) for runs in alone]
    print(f"cold, {len(alone)} shaders, the best of {args.runs} runs each (measured):")
    for name, times in (("wall", walls), ("processor", processor)):
        print(f"  {name:9} median {statistics.median(times) * 1e3:7.1f} ms, slowest {max(times) * 1e3:7.1f} ms")
    wall, used, answer = timed(command + ["--threads", str(args.threads)] + files)
    good = sum("devices" in shader for shader in answer["shaders"])
    print(f"many, {good} of {len(files)} shaders predicted on {args.threads} threads (measured):")
    print(f"  {good / wall:.0f} shaders/s by the wall, {good / used * args.threads:.0f} by processor time")


if __name__ == "__main__":
    main()
