"""The model against the simulator on operators that no term of the model was chosen by.

    cargo build --release && python3 bench/held_out.py

The shipped network does not serve for this: the model was changed after looking at it.
"""

import json
import math
import subprocess
import sys
import tempfile

OPERATORS = [
    "conv2d n=1 c=24 h=20 w=36 k=40 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=48 h=14 w=28 k=96 r=1 s=1 stride=1 pad=0",
    "dwconv2d n=1 c=72 h=18 w=30 r=3 s=3 stride=1 pad=1",
    "matmul m=96 n=160 k=224",
    "conv2d n=1 c=12 h=33 w=47 k=20 r=5 s=5 stride=2 pad=2",
    "fc n=8 k=300 m=120",
]


def ranks(values: list[float]) -> list[int]:
    return [sorted(values).index(v) for v in values]


def main(command: str) -> None:
    pairs = []
    for operator in OPERATORS:
        with tempfile.TemporaryDirectory() as folder:
            arguments = [command, "optimize", "--op", operator, "--json", "--store", f"{folder}/store"]
            chosen = json.loads(subprocess.run(arguments, check=True, capture_output=True).stdout)["chosen"]
        pairs.append((chosen["predicted_s"], chosen["time_s"]))
        print(f"{1e6 * chosen['predicted_s']:8.1f} us predicted {1e6 * chosen['time_s']:8.1f} us {chosen['time_source']}  {operator}")
    error = math.exp(sum(abs(math.log(p / t)) for p, t in pairs) / len(pairs))
    n = len(pairs)
    squares = sum((a - b) ** 2 for a, b in zip(ranks([p for p, _ in pairs]), ranks([t for _, t in pairs])))
    print(f"geometric error x{error:.2f}, rank correlation {1 - 6 * squares / (n * (n * n - 1)):.2f}, {n} operators")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "target/release/warpsight")
