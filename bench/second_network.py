"""Writes a second, small network for bench/verify.py: nothing in it has the sizes of the shipped one.

    .venv/bin/python bench/second_network.py FILE.onnx

Odd extents, strided, dilated and grouped convolutions, a residual, padded pooling, concatenation, transposition, Gemm, layer-wise Softmax.
Weights are random but seeded.
"""

import sys

import numpy as np
import onnx

from networks import Builder


def main(path: str) -> None:
    net = Builder()
    node, weight = net.node, net.weight
    constant = lambda values: net.constant(values, np.int64)

    x = node("LeakyRelu", node("Conv", "image", weight(10, 5, 3, 3), weight(10), strides=[2, 2], pads=[1, 0, 1, 2]), alpha=0.1)
    y = node("Sigmoid", node("Conv", x, weight(10, 5, 3, 3), group=2, pads=[2, 2, 2, 2], dilations=[2, 2]))
    residual = node("Add", y, x)
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    both = node("Concat", node("MaxPool", residual, **window), node("AveragePool", residual, **window), axis=1)
    squashed = node("Tanh", node("Conv", both, weight(7, 20, 1, 1)), output="squashed")
    turned = node("Transpose", squashed, perm=[0, 2, 3, 1])
    cut = node("Slice", turned, constant([1]), constant([5]), constant([2]))
    rows = node("Reshape", cut, constant([1, -1]))
    scores = node("Gemm", rows, weight(11, 5 * 4 * 7), weight(11), transB=1)
    node("Softmax", scores, output="label", axis=-1)
    onnx.save(net.model({"image": [1, 5, 19, 23]}, {"label": [1, 11], "squashed": [1, 7, 5, 6]}), path)


if __name__ == "__main__":
    main(sys.argv[1])
