"""Layers of networks of sequences as exporters write them, and such networks; `architectures.py` lists them."""

import math

import numpy as np
import onnx

from networks import MASK, WORDS
from vision import Vision


class Sequences(Vision):
    """Rows are tokens."""

    def linear(self, x, columns, outputs, bias=True, scale=0.7):
        """As PyTorch writes it of more than two dimensions: a product, then a sum."""
        y = self.node("MatMul", x, self.constant(self.rng.standard_normal((columns, outputs)) * scale / math.sqrt(columns)))
        return self.node("Add", self.weight(outputs), y) if bias else y

    def layer_norm(self, x, columns, apart=False):
        """As an operator (PyTorch, from 17 on), or taken apart (before)."""
        scale, offset = self.constant(1 + 0.1 * self.rng.standard_normal(columns)), self.weight(columns)
        if not apart:
            return self.node("LayerNormalization", x, scale, offset, axis=-1, epsilon=1e-6)
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        variance = self.node("ReduceMean", self.node("Pow", centred, self.number(2.0)), axes=[-1])
        deviation = self.node("Sqrt", self.node("Add", variance, self.number(1e-5)))
        return self.node("Add", self.node("Mul", self.node("Div", centred, deviation), scale), offset)

    def rms_norm(self, x, columns):
        """As Llama's: the power of two cast to floats and back."""
        mean = self.node("ReduceMean", self.node("Pow", self.node("Cast", x, to=1), self.number(2.0)), axes=[-1])
        root = self.node("Sqrt", self.node("Add", mean, self.number(1e-6)))
        y = self.node("Mul", x, self.node("Div", self.number(1.0), root))
        return self.node("Mul", self.constant(1 + 0.1 * self.rng.standard_normal(columns)), y)

    def gelu(self, x):
        """By the error function."""
        erf = self.node("Erf", self.node("Div", x, self.number(math.sqrt(2))))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, self.number(1.0))), self.number(0.5))

    def gelu_tanh(self, x):
        """As GPT-2's."""
        cube = self.node("Mul", self.node("Pow", x, self.number(3.0)), self.number(0.044715))
        inner = self.node("Mul", self.node("Add", x, cube), self.number(math.sqrt(2 / math.pi)))
        rise = self.node("Add", self.node("Tanh", inner), self.number(1.0))
        return self.node("Mul", self.node("Mul", x, self.number(0.5)), rise)

    def asked(self, x, *axes):
        """A shape asked for and taken apart, as traced models do of what they know."""
        shape = self.node("Shape", x)
        return [self.node("Gather", shape, self.constant(axis, np.int64), axis=0) for axis in axes]

    def stacked(self, *own):
        """Numbers as a shape."""
        lists = [self.node("Unsqueeze", one, self.whole(0)) if isinstance(one, str) else self.whole(one) for one in own]
        return self.node("Concat", *lists, axis=0)

    def attention(self, x, batch, rows, columns, heads, mask=None, asked=False):
        """Queries, keys and values of their own, heads by Reshape and Transpose; shapes are asked for, or known."""
        depth = columns // heads

        def headed(kind, permutation):
            y = self.linear(x, columns, columns)
            if asked:
                shape = self.stacked(*self.asked(y, 0, 1), heads, depth)
            else:
                shape = self.whole(batch, rows, heads, depth)
            return self.turned(self.node("Reshape", y, shape), *permutation)

        queries, keys, values = headed("q", (0, 2, 1, 3)), headed("k", (0, 2, 3, 1)), headed("v", (0, 2, 1, 3))
        products = self.node("Div", self.node("MatMul", queries, keys), self.number(math.sqrt(depth)))
        if mask:
            products = mask(products)
        attended = self.turned(self.node("MatMul", self.node("Softmax", products, axis=-1), values), 0, 2, 1, 3)
        return self.linear(self.reshaped(attended, batch, rows, columns), columns, columns)

    def feed_forward(self, x, columns, wide, act):
        return self.linear(act(self.linear(x, columns, wide)), wide, columns)


def vit(extent=224, patch=16, columns=192, heads=3, layers=2, classes=1000, batch=1, apart=False):
    """ViT-Ti/16 (Touvron et al. 2021, table 1), as timm's: one product for queries, keys and values, parts by Gather."""
    net = Sequences(batch, extent)
    side, depth = extent // patch, columns // heads
    rows = side * side + 1
    weights = net.weight(columns, 3, patch, patch)
    x = net.node("Conv", "image", weights, net.weight(columns), kernel_shape=[patch] * 2, strides=[patch] * 2)
    x = net.turned(net.reshaped(x, batch, columns, side * side), 0, 2, 1)
    first = net.node("Expand", net.constant(net.rng.standard_normal((1, 1, columns))), net.stacked(*net.asked(x, 0), 1, columns))
    x = net.node("Add", net.joined(first, x), net.constant(0.1 * net.rng.standard_normal((1, rows, columns))))
    for _ in range(layers):
        y = net.linear(net.layer_norm(x, columns, apart), columns, 3 * columns)
        y = net.turned(net.reshaped(y, batch, rows, 3, heads, depth), 2, 0, 3, 1, 4)
        queries, keys, values = (net.node("Gather", y, net.constant(number, np.int64), axis=0) for number in range(3))
        products = net.node("MatMul", net.node("Mul", queries, net.number(depth**-0.5)), net.turned(keys, 0, 1, 3, 2))
        y = net.turned(net.node("MatMul", net.node("Softmax", products, axis=-1), values), 0, 2, 1, 3)
        x = net.node("Add", x, net.linear(net.reshaped(y, batch, rows, columns), columns, columns))
        x = net.node("Add", x, net.feed_forward(net.layer_norm(x, columns, apart), columns, 4 * columns, net.gelu))
    first = net.node("Gather", net.layer_norm(x, columns, apart), net.constant(0, np.int64), axis=1)
    net.node("Gemm", first, net.weight(classes, columns), net.weight(classes), output="scores", transB=1)
    return net.model({"image": net.shape}, {"scores": (batch, classes)})


def bert(rows=128, columns=256, heads=4, layers=2, words=5000, most=512, batch=1):
    """Layers of a BERT (Devlin et al. 2019) as PyTorch's: embeddings found by Gather, a mask of whole numbers, shapes asked for, a pooler."""
    net = Sequences(batch, 1)
    found = net.node("Gather", net.constant(net.rng.standard_normal((words, columns))), WORDS)
    kinds = net.node("Gather", net.constant(net.rng.standard_normal((2, columns))), net.constant(np.zeros((batch, rows)), np.int64))
    # Positions: the first of a table, as many as there are words.
    count = net.node("Unsqueeze", *net.asked(WORDS, 1), net.whole(0))
    numbers = net.node("Slice", net.constant(np.arange(most)[None], np.int64), net.whole(0), count, net.whole(1), net.whole(1))
    places = net.node("Gather", net.constant(net.rng.standard_normal((most, columns))), numbers)
    x = net.layer_norm(net.node("Add", net.node("Add", found, kinds), places), columns, apart=True)
    mask = net.node("Cast", net.node("Unsqueeze", net.node("Unsqueeze", MASK, net.whole(1)), net.whole(2)), to=1)
    mask = net.node("Mul", net.node("Sub", net.number(1.0), mask), net.number(-10000.0))
    for _ in range(layers):
        attended = net.attention(x, batch, rows, columns, heads, lambda products: net.node("Add", products, mask), asked=True)
        x = net.layer_norm(net.node("Add", attended, x), columns, apart=True)
        x = net.layer_norm(net.node("Add", net.feed_forward(x, columns, 4 * columns, net.gelu), x), columns, apart=True)
    first = net.node("Gather", x, net.constant(0, np.int64), axis=1)
    net.node("Tanh", net.node("Gemm", first, net.weight(columns, columns), net.weight(columns), transB=1), output="pooled")
    return net.model({WORDS: (batch, rows), MASK: (batch, rows)}, {"pooled": (batch, columns)})


def gpt(rows=64, columns=256, heads=4, layers=2, words=5000, most=256, batch=1):
    """Blocks of GPT-2 as PyTorch's: one product and Split, a mask cut from a constant and chosen by Where, scores of all words."""
    net = Sequences(batch, 1)
    depth = columns // heads
    table = net.rng.standard_normal((words, columns))
    x = net.node("Add", net.node("Gather", net.constant(table), WORDS), net.constant(0.1 * net.rng.standard_normal((1, rows, columns))))
    triangle = net.constant(np.tril(np.ones((1, 1, most, most))), bool)
    for _ in range(layers):
        y = net.linear(net.layer_norm(x, columns), columns, 3 * columns)
        parts = net.parts(y, [columns] * 3, axis=2)
        queries, keys, values = (net.turned(net.reshaped(own, batch, rows, heads, depth), 0, 2, 1, 3) for own in parts)
        products = net.node("MatMul", queries, net.turned(keys, 0, 1, 3, 2))
        root = net.node("Sqrt", net.node("Cast", *net.asked(values, 3), to=1))
        products = net.node("Div", products, root)
        count = net.node("Unsqueeze", *net.asked(products, 2), net.whole(0))
        seen = net.node("Slice", triangle, net.whole(0), count, net.whole(2), net.whole(1))
        seen = net.node("Slice", seen, net.whole(0), count, net.whole(3), net.whole(1))
        products = net.node("Where", seen, products, net.number(np.finfo(np.float32).min))
        y = net.turned(net.node("MatMul", net.node("Softmax", products, axis=-1), values), 0, 2, 1, 3)
        x = net.node("Add", x, net.linear(net.reshaped(y, batch, rows, columns), columns, columns))
        x = net.node("Add", x, net.feed_forward(net.layer_norm(x, columns), columns, 4 * columns, net.gelu_tanh))
    net.node("MatMul", net.layer_norm(x, columns), net.constant(table.T / math.sqrt(columns)), output="scores")
    return net.model({WORDS: (batch, rows)}, {"scores": (batch, rows, words)})


def llama(rows=64, columns=256, heads=8, groups=2, wide=688, layers=2, batch=1):
    """Blocks of a Llama as PyTorch's: turned by angles (Slice, Neg, Concat), keys that heads share by Expand, a triangle by Trilu, a gate."""
    net = Sequences(batch, 1)
    depth = columns // heads
    angles = np.outer(np.arange(rows), 10000.0 ** (-np.arange(0, depth, 2) / depth))
    angles = np.concatenate([angles, angles], 1)[None, None]
    cosines, sines = net.constant(np.cos(angles)), net.constant(np.sin(angles))

    def rotated(x):
        half, end = net.whole(depth // 2), net.whole(np.iinfo(np.int64).max)
        low = net.node("Slice", x, net.whole(0), half, net.whole(3), net.whole(1))
        high = net.node("Slice", x, half, end, net.whole(3), net.whole(1))
        turned = net.node("Concat", net.node("Neg", high), low, axis=-1)
        return net.node("Add", net.node("Mul", x, cosines), net.node("Mul", turned, sines))

    def headed(x, count):
        y = net.linear(x, columns, count * depth, bias=False)
        return net.turned(net.reshaped(y, batch, rows, count, depth), 0, 2, 1, 3)

    def repeated(x):
        y = net.node("Unsqueeze", x, net.whole(2))
        y = net.node("Expand", y, net.whole(batch, groups, heads // groups, rows, depth))
        return net.reshaped(y, batch, heads, rows, depth)

    low = net.node("ConstantOfShape", net.whole(rows, rows), value=onnx.helper.make_tensor("v", 1, [1], [-1e9]))
    mask = net.node("Trilu", low, net.constant(1, np.int64), upper=1)
    x = "rows"
    for _ in range(layers):
        y = net.rms_norm(x, columns)
        queries, keys, values = rotated(headed(y, heads)), repeated(rotated(headed(y, groups))), repeated(headed(y, groups))
        products = net.node("Mul", net.node("MatMul", queries, net.turned(keys, 0, 1, 3, 2)), net.number(depth**-0.5))
        weights = net.node("Softmax", net.node("Add", products, mask), axis=-1)
        y = net.turned(net.node("MatMul", weights, values), 0, 2, 1, 3)
        x = net.node("Add", x, net.linear(net.reshaped(y, batch, rows, columns), columns, columns, bias=False))
        y = net.rms_norm(x, columns)
        gate = net.swish(net.linear(y, columns, wide, bias=False))
        y = net.linear(net.node("Mul", gate, net.linear(y, columns, wide, bias=False)), wide, columns, bias=False)
        x = net.node("Add", x, y)
    net.node("Mul", x, net.number(1.0), output="result")
    return net.model({"rows": (batch, rows, columns)}, {"result": (batch, rows, columns)})


def swin(extent=56, window=7, columns=96, heads=3, batch=1):
    """Two blocks of Swin-T (Liu et al. 2021, figure 3): windows by Reshape and Transpose, moved by Slice and Concat, a bias of positions, a mask."""
    net = Sequences(batch, extent)
    count, depth, area = extent // window, columns // heads, window * window
    x = net.node("Conv", "image", net.weight(columns, 3, 1, 1), net.weight(columns))
    x = net.turned(net.reshaped(x, batch, columns, extent * extent), 0, 2, 1)

    def moved(x, by):
        for axis in (1, 2):
            tail = net.node("Slice", x, net.whole(by), net.whole(np.iinfo(np.int64).max), net.whole(axis))
            head = net.node("Slice", x, net.whole(0), net.whole(by), net.whole(axis))
            x = net.node("Concat", tail, head, axis=axis)
        return x

    for shift in (0, window // 2):
        y = net.reshaped(net.layer_norm(x, columns), batch, extent, extent, columns)
        y = moved(y, shift) if shift else y
        y = net.turned(net.reshaped(y, batch, count, window, count, window, columns), 0, 1, 3, 2, 4, 5)
        y = net.linear(net.reshaped(y, -1, area, columns), columns, 3 * columns)
        y = net.turned(net.reshaped(y, -1, area, 3, heads, depth), 2, 0, 3, 1, 4)
        queries, keys, values = (net.node("Squeeze", own, net.whole(0)) for own in net.parts(y, [1, 1, 1], axis=0))
        products = net.node("MatMul", net.node("Mul", queries, net.number(depth**-0.5)), net.turned(keys, 0, 1, 3, 2))
        products = net.node("Add", products, net.constant(0.1 * net.rng.standard_normal((1, heads, area, area))))
        if shift:
            mask = net.constant(np.where(net.rng.random((1, count * count, 1, area, area)) < 0.8, 0.0, -100.0))
            apart = net.reshaped(products, batch, count * count, heads, area, area)
            products = net.reshaped(net.node("Add", apart, mask), -1, heads, area, area)
        y = net.turned(net.node("MatMul", net.node("Softmax", products, axis=-1), values), 0, 2, 1, 3)
        y = net.linear(net.reshaped(y, -1, area, columns), columns, columns)
        y = net.turned(net.reshaped(y, batch, count, count, window, window, columns), 0, 1, 3, 2, 4, 5)
        y = net.reshaped(y, batch, extent, extent, columns)
        y = moved(y, extent - shift) if shift else y
        x = net.node("Add", x, net.reshaped(y, batch, extent * extent, columns))
        x = net.node("Add", x, net.feed_forward(net.layer_norm(x, columns), columns, 4 * columns, net.gelu))
    net.node("ReduceMean", x, axes=[1], keepdims=0, output="scores")
    return net.model({"image": net.shape}, {"scores": (batch, columns)})


def temporal(length=200, channels=64, layers=4, classes=10, batch=2):
    """A network of one dimension (Bai et al. 2018, figure 1): padded in front and cut behind, windows ever wider, a gate as WaveNet's."""
    net = Sequences(batch, 1)
    x, own = "signal", 8
    for layer in range(layers):
        dilation = 1 << layer
        weights = net.weight(2 * channels, own, 3)
        pads = [2 * dilation] * 2
        y = net.node("Conv", x, weights, net.weight(2 * channels), kernel_shape=[3], dilations=[dilation], pads=pads)
        y = net.node("Slice", y, net.whole(0), net.whole(-2 * dilation), net.whole(2), net.whole(1))
        one, other = net.parts(y, [channels] * 2)
        y = net.node("Mul", net.node("Tanh", one), net.node("Sigmoid", other))
        short = net.node("Conv", x, net.weight(channels, own, 1), net.weight(channels)) if own != channels else x
        x, own = net.node("Add", net.node("PRelu", y, net.constant(np.full((channels, 1), 0.25))), short), channels
    x = net.node("Softplus", net.node("ReduceMax", x, axes=[2], keepdims=0))
    y = net.node("Gemm", x, net.weight(classes, channels), net.weight(classes), transB=1)
    net.node("LogSoftmax", y, axis=1, output="scores")
    return net.model({"signal": (batch, 8, length)}, {"scores": (batch, classes)})
