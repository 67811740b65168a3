"""Networks of pictures that others designed, as exporters write them; `architectures.py` lists them."""

import math

import numpy as np
import onnx

from networks import INPUT, Builder


class Vision(Builder):
    """Layers of networks of pictures; those that normalise are folded unless they come first."""

    def __init__(self, batch, extent):
        super().__init__()
        self.batch, self.shape = batch, (batch, 3, extent, extent)

    def relu(self, x):
        return self.node("Relu", x)

    def swish(self, x):
        """As PyTorch writes SiLU."""
        return self.node("Mul", x, self.node("Sigmoid", x))

    def number(self, value):
        return self.constant(value)

    def whole(self, *values):
        return self.constant(values, np.int64)

    def reshaped(self, x, *shape):
        return self.node("Reshape", x, self.whole(*shape))

    def turned(self, x, *permutation):
        return self.node("Transpose", x, perm=list(permutation))

    def joined(self, *parts):
        return self.node("Concat", *parts, axis=1)

    def windowed(self, kind, x, kernel, stride=1, pad=0, **more):
        return self.node(kind, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, **more)

    def oblong(self, x, channels, filters, rows, columns, stride=1, pad=True, dilation=1):
        """A convolution of any window, which keeps extents where it pads."""
        weights = self.weight(filters, channels, rows, columns)
        pads = [dilation * (rows // 2), dilation * (columns // 2)] * 2 if pad else [0] * 4
        more = {"dilations": [dilation] * 2} if dilation > 1 else {}
        return self.node("Conv", x, weights, self.weight(filters), kernel_shape=[rows, columns], strides=[stride] * 2, pads=pads, **more)

    def normalised(self, x, channels):
        """A normalisation of its own, which follows no convolution."""
        scale = self.constant(1 + 0.1 * self.rng.standard_normal(channels))
        variance = self.constant(1 + 0.1 * self.rng.random(channels))
        return self.node("BatchNormalization", x, scale, self.weight(channels), self.weight(channels), variance)

    def parts(self, x, sizes, axis=1):
        first = f"split{len(self.nodes)}"
        names = [f"{first}_{number}" for number in range(len(sizes))]
        self.nodes.append(onnx.helper.make_node("Split", [x, self.whole(*sizes)], names, name=first, axis=axis))
        return names

    def scored(self, x, channels, classes):
        flat = self.node("Flatten", self.node("GlobalAveragePool", x))
        self.node("Gemm", flat, self.weight(classes, channels), self.weight(classes), output="scores", transB=1)
        return self.model({INPUT: self.shape}, {"scores": (self.batch, classes)})
