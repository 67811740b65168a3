"""Writes a network of words for bench/verify.py: what transformers and detectors have, and pictures' classifiers have not.

    .venv/bin/python bench/words_network.py FILE.onnx

Words and positions looked up, a mask of the words that are there, attention of two heads with it, a block of two layers with a GELU; then the
same as a picture that is resized in three ways, parted and joined. Weights are random but seeded. Words are below 50, and 0 is none.
"""

import sys

import numpy as np
import onnx

from networks import WORDS, Builder

COUNT, LONG, WIDE, HEADS = 2, 9, 16, 2
VOCABULARY = 50


def main(path: str) -> None:
    net = Builder()
    node, weight = net.node, net.weight
    whole = lambda values: net.constant(values, np.int64)
    number = lambda value: net.constant(np.float32(value))

    looked_up = node("Gather", weight(VOCABULARY, WIDE), WORDS)
    # Positions are known before a run, words are not.
    placed = node("Add", looked_up, node("Gather", weight(LONG + 3, WIDE), whole(np.arange(LONG)[::-1])))
    x = node("LayerNormalization", placed, weight(WIDE), weight(WIDE))
    there = node("Not", node("Equal", WORDS, whole(0)))
    mask = node("Unsqueeze", node("Where", there, number(0), number(-1e4)), whole([1, 2]))
    heads = lambda rows: node("Reshape", rows, whole([COUNT, LONG, HEADS, WIDE // HEADS]))
    product = lambda of, m, n: node("Add", node("MatMul", of, weight(m, n, scale=0.3)), weight(n))
    parts = [f"part{n}" for n in range(3)]
    net.nodes.append(onnx.helper.make_node("Split", [product(x, WIDE, 3 * WIDE), whole([WIDE] * 3)], parts, name="parts", axis=-1))
    queries, keys, values = (node("Transpose", heads(part), perm=perm) for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
    scores = node("Add", node("Div", node("MatMul", queries, keys), number(np.sqrt(WIDE / HEADS))), mask)
    mixed = node("Transpose", node("MatMul", node("Softmax", scores, axis=-1), values), perm=[0, 2, 1, 3])
    x = node("Add", x, product(node("Reshape", mixed, whole([COUNT, LONG, WIDE])), WIDE, WIDE))
    inner = product(x, WIDE, 4 * WIDE)
    half = node("Mul", inner, number(0.5))
    gelu = node("Mul", half, node("Add", node("Erf", node("Div", inner, number(np.sqrt(2)))), number(1)))
    x = node("LayerNormalization", node("Add", x, product(gelu, 4 * WIDE, WIDE)), weight(WIDE), weight(WIDE), output="hidden")

    picture = node("Reshape", x, whole([COUNT, 1, LONG, WIDE]))
    planes = node("Conv", picture, weight(4, 1, 3, 3), weight(4), pads=[1, 1, 1, 1])
    net.nodes.append(onnx.helper.make_node("Split", [planes, whole([1, 3])], ["one", "three"], name="planes", axis=1))
    scales = net.constant([1, 1, 2, 1.5])
    size = whole([COUNT, 3, 2 * LONG, 24])
    large = node("Resize", "one", "", scales, mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    smooth = node("Resize", "three", "", "", size, mode="linear")
    joined = node("Concat", large, smooth, node("Expand", number(0.25), whole([COUNT, 1, 2 * LONG, 24])), axis=1)
    node("Resize", joined, "", net.constant([1, 1, 0.5, 0.5]), mode="cubic", output="picture")
    onnx.save(net.model({WORDS: [COUNT, LONG]}, {"hidden": [COUNT, LONG, WIDE], "picture": [COUNT, 5, LONG, 12]}), path)


if __name__ == "__main__":
    main(sys.argv[1])
