"""Writes a second, small network for bench/verify.py: nothing in it has the sizes of the shipped one.

    .venv/bin/python bench/second_network.py FILE.onnx

Odd extents, strided, dilated and grouped convolutions, a residual, padded pooling, concatenation, transposition, Gemm, layer-wise Softmax.
Weights are random but seeded.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main(path: str) -> None:
    rng = np.random.default_rng(20)
    weights = []

    def weight(name: str, *shape: int) -> str:
        fan_in = int(np.prod(shape[1:])) or 1
        value = (rng.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)
        weights.append(numpy_helper.from_array(value, name))
        return name

    def constant(name: str, values) -> str:
        weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    node = helper.make_node
    nodes = [
        node("Conv", ["image", weight("w1", 10, 5, 3, 3), weight("b1", 10)], ["c1"], strides=[2, 2], pads=[1, 0, 1, 2]),
        node("LeakyRelu", ["c1"], ["a1"], alpha=0.1),
        node("Conv", ["a1", weight("w2", 10, 5, 3, 3)], ["c2"], group=2, pads=[2, 2, 2, 2], dilations=[2, 2]),
        node("Sigmoid", ["c2"], ["a2"]),
        node("Add", ["a2", "a1"], ["residual"]),
        node("MaxPool", ["residual"], ["pooled"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("AveragePool", ["residual"], ["mean"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Concat", ["pooled", "mean"], ["both"], axis=1),
        node("Conv", ["both", weight("w3", 7, 20, 1, 1)], ["mixed"]),
        node("Tanh", ["mixed"], ["squashed"]),
        node("Transpose", ["squashed"], ["turned"], perm=[0, 2, 3, 1]),
        node("Slice", ["turned", constant("from", [1]), constant("to", [5]), constant("axis", [2])], ["cut"]),
        node("Reshape", ["cut", constant("flat", [1, -1])], ["rows"]),
        node("Gemm", ["rows", weight("w4", 11, 5 * 4 * 7), weight("b4", 11)], ["scores"], transB=1),
        node("Softmax", ["scores"], ["label"], axis=-1),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 5, 19, 23])
    outputs = [helper.make_tensor_value_info("label", TensorProto.FLOAT, [1, 11]), helper.make_tensor_value_info("squashed", TensorProto.FLOAT, [1, 7, 5, 6])]
    graph = helper.make_graph(nodes, "second", [image], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


if __name__ == "__main__":
    main(sys.argv[1])
