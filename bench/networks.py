"""ResNet-18, MobileNetV2 and SqueezeNet 1.1 at 224 x 224 as ONNX, as they are deployed: normalisations folded into the convolutions before them.

    .venv/bin/python bench/networks.py resnet18|mobilenetv2|squeezenet FILE.onnx

Weights are random but seeded, and scaled so that activations stay near one; only shapes matter for speed.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INPUT = "image"
# Inputs of whole numbers.
WORDS, MASK = "words", "mask"
WHOLE = (WORDS, MASK)
SHAPE = (1, 3, 224, 224)


class Builder:
    """Nodes and weights of a network under construction; what adds a node returns the name of its output."""

    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(7)

    def weight(self, *shape, scale=1.0):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 100
        return self.constant(self.rng.standard_normal(shape) * scale * np.sqrt(2.0 / fan_in))

    def constant(self, value, kind=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def node(self, kind, *inputs, output=None, **attributes):
        output = output or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def conv(self, x, channels, filters, kernel, stride=1, groups=1, scale=1.0):
        weights = self.weight(filters, channels // groups, kernel, kernel, scale=scale)
        pads = [kernel // 2] * 4
        return self.node("Conv", x, weights, self.weight(filters), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads, group=groups)

    def classifier(self, x, channels):
        flat = self.node("Flatten", self.node("GlobalAveragePool", x))
        self.node("Gemm", flat, self.weight(1000, channels), self.weight(1000), output="scores", transB=1)
        return self.model({INPUT: SHAPE}, {"scores": (SHAPE[0], 1000)})

    def model(self, inputs, outputs):
        """Of these names and shapes."""
        kind = lambda name: TensorProto.INT64 if name in WHOLE else TensorProto.FLOAT
        infos = [[helper.make_tensor_value_info(n, kind(n), shape) for n, shape in own.items()] for own in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, "network", *infos, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return onnx.shape_inference.infer_shapes(model)


def resnet18():
    """He et al. 2015, table 1."""
    net = Builder()
    x = net.node("Relu", net.conv(INPUT, 3, 64, 7, 2))
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for filters, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]:
        y = net.node("Relu", net.conv(x, channels, filters, 3, stride))
        y = net.conv(y, filters, filters, 3, scale=0.3)
        short = x if (channels, 1) == (filters, stride) else net.conv(x, channels, filters, 1, stride)
        x = net.node("Relu", net.node("Add", y, short))
        channels = filters
    return net.classifier(x, channels)


def mobilenetv2():
    """Sandler et al. 2018, table 2: expansion, channels, repeats and stride of each stage."""
    net = Builder()
    six = [net.constant(0.0), net.constant(6.0)]
    clipped = lambda x: net.node("Clip", x, *six)
    x = clipped(net.conv(INPUT, 3, 32, 3, 2))
    channels = 32
    for expansion, filters, repeats, first in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for stride in [first] + [1] * (repeats - 1):
            wide = channels * expansion
            y = clipped(net.conv(x, channels, wide, 1)) if expansion > 1 else x
            y = clipped(net.conv(y, wide, wide, 3, stride, groups=wide))
            y = net.conv(y, wide, filters, 1)
            x = net.node("Add", x, y) if (channels, 1) == (filters, stride) else y
            channels = filters
    return net.classifier(clipped(net.conv(x, channels, 1280, 1)), 1280)


def fire(net, x, channels, squeezed, expanded):
    """Iandola et al. 2016, figure 2: 1 x 1 squeezes, 1 x 1 and 3 x 3 expand and are joined."""
    small = net.node("Relu", net.conv(x, channels, squeezed, 1))
    return net.node("Concat", *[net.node("Relu", net.conv(small, squeezed, expanded, kernel)) for kernel in (1, 3)], axis=1)


def squeezenet():
    """SqueezeNet 1.1: version 1.0 (Iandola et al. 2016, table 1) with fewer filters first and poolings earlier."""
    net = Builder()
    pool = lambda x: net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])
    weights = net.weight(64, 3, 3, 3)
    x = pool(net.node("Relu", net.node("Conv", INPUT, weights, net.weight(64), kernel_shape=[3, 3], strides=[2, 2])))
    channels = 64
    for squeezed, expanded, last in [(16, 64, False), (16, 64, True), (32, 128, False), (32, 128, True), (48, 192, False), (48, 192, False), (64, 256, False), (64, 256, False)]:
        x = fire(net, x, channels, squeezed, expanded)
        x, channels = pool(x) if last else x, 2 * expanded
    x = net.node("GlobalAveragePool", net.node("Relu", net.conv(x, channels, 1000, 1)))
    net.node("Flatten", x, output="scores")
    return net.model({INPUT: SHAPE}, {"scores": (SHAPE[0], 1000)})


NETWORKS = {"resnet18": resnet18, "mobilenetv2": mobilenetv2, "squeezenet": squeezenet}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in NETWORKS:
        sys.exit(__doc__)
    onnx.save(NETWORKS[sys.argv[1]](), sys.argv[2])
