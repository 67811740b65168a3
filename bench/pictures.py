"""Networks of pictures that others designed, as exporters write them; `architectures.py` lists them."""

import math

import numpy as np

from networks import INPUT
from sequences import Sequences
from vision import Vision


def shufflenetv2(extent=224, first=24, stages=((116, 4), (232, 8), (464, 4)), last=1024, classes=1000, batch=1):
    """ShuffleNetV2 1.0 (Ma et al. 2018, table 5), as torchvision's is exported: halves by Split, shuffled by Reshape and Transpose."""
    net = Vision(batch, extent)
    x = net.windowed("MaxPool", net.relu(net.conv(INPUT, 3, first, 3, 2)), 3, 2, 1)
    channels, side = first, math.ceil(math.ceil(extent / 2) / 2)

    def branch(x, channels, half, stride):
        y = net.relu(net.conv(x, channels, half, 1))
        y = net.conv(y, half, half, 3, stride, groups=half, scale=0.5)
        return net.relu(net.conv(y, half, half, 1))

    for filters, repeats in stages:
        half = filters // 2
        for repeat in range(repeats):
            if repeat == 0:
                side = math.ceil(side / 2)
                left = net.conv(x, channels, channels, 3, 2, groups=channels, scale=0.5)
                left, right = net.relu(net.conv(left, channels, half, 1)), branch(x, channels, half, 2)
            else:
                left, right = net.parts(x, [half, half])
                right = branch(right, half, half, 1)
            x = net.joined(left, right)
            x = net.turned(net.reshaped(x, batch, 2, half, side, side), 0, 2, 1, 3, 4)
            x = net.reshaped(x, batch, filters, side, side)
            channels = filters
    x = net.relu(net.conv(x, channels, last, 1))
    mean = net.node("ReduceMean", x, axes=[2, 3], keepdims=0)
    net.node("Gemm", mean, net.weight(classes, last), net.weight(classes), output="scores", transB=1)
    return net.model({INPUT: net.shape}, {"scores": (batch, classes)})

def hard_swish_taken_apart(net, x):
    """As TensorFlow writes it."""
    gate = net.node("Clip", net.node("Add", x, net.number(3.0)), net.number(0.0), net.number(6.0))
    return net.node("Mul", net.node("Mul", x, gate), net.number(1 / 6))


def squeezed(net, x, channels, squeeze, inner, gate):
    """Squeeze and excite: channels weighed by what their means say."""
    mean = net.node("GlobalAveragePool", x)
    return net.node("Mul", gate(net.conv(inner(net.conv(mean, channels, squeeze, 1)), squeeze, channels, 1)), x)


# Kernel, wide, filters, squeezed, hard swish (else ReLU), stride.
SMALL_V3 = [(3, 16, 16, 1, 0, 2), (3, 72, 24, 0, 0, 2), (3, 88, 24, 0, 0, 1), (5, 96, 40, 1, 1, 2), (5, 240, 40, 1, 1, 1), (5, 240, 40, 1, 1, 1)]
SMALL_V3 += [(5, 120, 48, 1, 1, 1), (5, 144, 48, 1, 1, 1), (5, 288, 96, 1, 1, 2), (5, 576, 96, 1, 1, 1), (5, 576, 96, 1, 1, 1)]


def mobilenetv3(extent=224, first=16, blocks=SMALL_V3, last=(576, 1024), classes=1000, batch=1, apart=False):
    """MobileNetV3-Small (Howard et al. 2019, table 2), with hard swish as an operator or taken apart."""
    net = Vision(batch, extent)
    hard = (lambda x: hard_swish_taken_apart(net, x)) if apart else lambda x: net.node("HardSwish", x)
    x = hard(net.conv(INPUT, 3, first, 3, 2))
    channels = first
    for kernel, wide, filters, squeeze, swish, stride in blocks:
        act = hard if swish else net.relu
        y = act(net.conv(x, channels, wide, 1)) if wide != channels else x
        y = act(net.conv(y, wide, wide, kernel, stride, groups=wide))
        if squeeze:
            y = squeezed(net, y, wide, max(4, wide // 4), net.relu, lambda x: net.node("HardSigmoid", x, alpha=1 / 6))
        y = net.conv(y, wide, filters, 1)
        x = net.node("Add", y, x) if (channels, 1) == (filters, stride) else y
        channels = filters
    x = hard(net.conv(x, channels, last[0], 1))
    flat = net.node("Flatten", net.node("GlobalAveragePool", x))
    hidden = hard(net.node("Gemm", flat, net.weight(last[1], last[0]), net.weight(last[1]), transB=1))
    net.node("Gemm", hidden, net.weight(classes, last[1]), net.weight(classes), output="scores", transB=1)
    return net.model({INPUT: net.shape}, {"scores": (batch, classes)})


# Expansion, filters, repeats, stride, kernel.
B0 = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]


def efficientnet(extent=224, first=32, stages=B0, last=1280, classes=1000, batch=1):
    """EfficientNet-B0 (Tan and Le 2019, table 1)."""
    net = Vision(batch, extent)
    x = net.swish(net.conv(INPUT, 3, first, 3, 2))
    channels = first
    for expansion, filters, repeats, start, kernel in stages:
        for stride in [start] + [1] * (repeats - 1):
            wide = channels * expansion
            y = net.swish(net.conv(x, channels, wide, 1)) if expansion > 1 else x
            y = net.swish(net.conv(y, wide, wide, kernel, stride, groups=wide))
            y = squeezed(net, y, wide, max(2, channels // 4), net.swish, lambda x: net.node("Sigmoid", x))
            y = net.conv(y, wide, filters, 1)
            x = net.node("Add", y, x) if (channels, 1) == (filters, stride) else y
            channels = filters
    return net.scored(net.swish(net.conv(x, channels, last, 1)), last, classes)


def densenet(extent=224, first=64, growth=32, layers=(6, 12), classes=1000, batch=1):
    """DenseNet-121's first blocks (Huang et al. 2017, table 1): each layer normalises all that came before."""
    net = Vision(batch, extent)
    x = net.windowed("MaxPool", net.relu(net.conv(INPUT, 3, first, 7, 2)), 3, 2, 1)
    channels = first
    for count in layers:
        own = [x]
        for _ in range(count):
            y = net.joined(*own) if len(own) > 1 else own[0]
            y = net.relu(net.conv(net.relu(net.normalised(y, channels)), channels, 4 * growth, 1))
            own.append(net.conv(y, 4 * growth, growth, 3))
            channels += growth
        y = net.relu(net.normalised(net.joined(*own), channels))
        x = net.windowed("AveragePool", net.conv(y, channels, channels // 2, 1), 2, 2)
        channels //= 2
    return net.scored(net.relu(net.normalised(x, channels)), channels, classes)


def unet(extent=128, first=32, depth=3, classes=4, batch=1):
    """U-Net (Ronneberger et al. 2015, figure 1) with padding: what was pooled is joined again."""
    net = Vision(batch, extent)
    both = lambda x, channels, filters: net.relu(net.conv(net.relu(net.conv(x, channels, filters, 3)), filters, filters, 3))
    x, channels, kept = INPUT, 3, []
    for level in range(depth):
        x, channels = both(x, channels, first << level), first << level
        kept.append(x)
        x = net.windowed("MaxPool", x, 2, 2)
    x, channels = both(x, channels, first << depth), first << depth
    for level in reversed(range(depth)):
        filters = first << level
        weights = net.weight(channels, filters, 2, 2, scale=math.sqrt(filters * 4 / channels))
        x = net.node("ConvTranspose", x, weights, net.weight(filters), kernel_shape=[2, 2], strides=[2, 2])
        x, channels = both(net.joined(kept[level], x), 2 * filters, filters), filters
    net.node("Conv", x, net.weight(classes, channels, 1, 1), net.weight(classes), output="scores")
    return net.model({INPUT: net.shape}, {"scores": (batch, classes, extent, extent)})


def inception(extent=35, channels=192, wide=64, seven=128, classes=1000, batch=1):
    """Two blocks of Inception-v3 (Szegedy et al. 2016, figures 5 and 6): mixed 5b, and a 6b of 1 x 7 and 7 x 1, between them a reduction."""
    net = Vision(batch, extent)
    cbr = lambda x, c, k, rows, columns=None, **more: net.relu(net.oblong(x, c, k, rows, columns or rows, **more))
    pool = lambda x: net.windowed("AveragePool", x, 3, 1, 1, count_include_pad=1)
    x = cbr(INPUT, 3, channels, 1)
    half, most = wide // 2, wide * 3 // 2
    a = cbr(x, channels, wide, 1)
    b = cbr(cbr(x, channels, wide * 3 // 4, 1), wide * 3 // 4, wide, 5)
    c = cbr(cbr(cbr(x, channels, wide, 1), wide, most, 3), most, most, 3)
    x, channels = net.joined(a, b, c, cbr(pool(x), channels, half, 1)), 2 * wide + most + half
    a = cbr(x, channels, 2 * wide, 3, stride=2, pad=False)
    b = cbr(cbr(cbr(x, channels, wide, 1), wide, most, 3), most, most, 3, stride=2, pad=False)
    x, channels = net.joined(a, b, net.windowed("MaxPool", x, 3, 2)), 2 * wide + most + channels
    a = cbr(x, channels, 3 * wide, 1)
    b = cbr(cbr(cbr(x, channels, seven, 1), seven, seven, 1, 7), seven, 3 * wide, 7, 1)
    c = cbr(x, channels, seven, 1)
    for rows, columns, filters in [(7, 1, seven), (1, 7, seven), (7, 1, seven), (1, 7, 3 * wide)]:
        c = cbr(c, seven, filters, rows, columns)
    x = net.joined(a, b, c, cbr(pool(x), channels, 3 * wide, 1))
    return net.scored(x, 12 * wide, classes)


def yolo(extent=320, first=16, classes=80, batch=1):
    """In the manner of YOLOv8n: C2f by Split, pooling in turn, Resize and Concat, a head that decodes boxes by Softmax of bins."""
    net = Vision(batch, extent)
    cbs = lambda x, c, k, kernel, stride=1: net.swish(net.conv(x, c, k, kernel, stride))

    def c2f(x, channels, filters, repeats, short=True):
        half = filters // 2
        own = net.parts(cbs(x, channels, filters, 1), [half, half])
        for _ in range(repeats):
            y = cbs(cbs(own[-1], half, half, 3), half, half, 3)
            own.append(net.node("Add", own[-1], y) if short else y)
        return cbs(net.joined(*own), (2 + repeats) * half, filters, 1)

    w = first
    x = c2f(cbs(cbs(INPUT, 3, w, 3, 2), w, 2 * w, 3, 2), 2 * w, 2 * w, 1)
    p3 = c2f(cbs(x, 2 * w, 4 * w, 3, 2), 4 * w, 4 * w, 2)
    p4 = c2f(cbs(p3, 4 * w, 8 * w, 3, 2), 8 * w, 8 * w, 2)
    p5 = c2f(cbs(p4, 8 * w, 16 * w, 3, 2), 16 * w, 16 * w, 1)
    pooled = [cbs(p5, 16 * w, 8 * w, 1)]
    for _ in range(3):
        pooled.append(net.windowed("MaxPool", pooled[-1], 5, 1, 2))
    p5 = cbs(net.joined(*pooled), 32 * w, 16 * w, 1)
    scales = net.constant([1, 1, 2, 2])
    twice = lambda x: net.node("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    p4 = c2f(net.joined(twice(p5), p4), 24 * w, 8 * w, 1, short=False)
    p3 = c2f(net.joined(twice(p4), p3), 12 * w, 4 * w, 1, short=False)
    n4 = c2f(net.joined(cbs(p3, 4 * w, 4 * w, 3, 2), p4), 12 * w, 8 * w, 1, short=False)
    n5 = c2f(net.joined(cbs(n4, 8 * w, 8 * w, 3, 2), p5), 24 * w, 16 * w, 1, short=False)
    bins, flat, places, strides, anchors = 16, [], 0, [], []
    for x, channels, stride in [(p3, 4 * w, 8), (n4, 8 * w, 16), (n5, 16 * w, 32)]:
        side = extent // stride
        boxes = net.conv(cbs(cbs(x, channels, 4 * w, 3), 4 * w, 4 * w, 3), 4 * w, 4 * bins, 1)
        kinds = net.conv(cbs(cbs(x, channels, 4 * w, 3), 4 * w, 4 * w, 3), 4 * w, classes, 1)
        flat.append(net.reshaped(net.joined(boxes, kinds), batch, 4 * bins + classes, -1))
        rows, columns = np.divmod(np.arange(side * side), side)
        anchors.append(np.stack([columns + 0.5, rows + 0.5]))
        strides.append(np.full((1, side * side), float(stride)))
        places += side * side
    boxes, kinds = net.parts(net.node("Concat", *flat, axis=2), [4 * bins, classes])
    boxes = net.turned(net.reshaped(boxes, batch, 4, bins, places), 0, 2, 1, 3)
    boxes = net.conv(net.node("Softmax", boxes, axis=1), bins, 1, 1)
    low, high = net.parts(net.reshaped(boxes, batch, 4, places), [2, 2])
    at = net.constant(np.concatenate(anchors, 1)[None])
    low, high = net.node("Sub", at, low), net.node("Add", at, high)
    middle = net.node("Div", net.node("Add", low, high), net.number(2.0))
    box = net.node("Mul", net.joined(middle, net.node("Sub", high, low)), net.constant(np.concatenate(strides, 1)))
    net.node("Concat", box, net.node("Sigmoid", kinds), output="found", axis=1)
    return net.model({INPUT: net.shape}, {"found": (batch, 4 + classes, places)})


def convnext(extent=224, channels=96, blocks=2, classes=1000, batch=1):
    """The first stage of ConvNeXt-T (Liu et al. 2022, figure 4): 7 x 7 for each channel, a normalisation over channels, two products."""
    net = Sequences(batch, extent)
    x = net.node("Conv", INPUT, net.weight(channels, 3, 4, 4), net.weight(channels), kernel_shape=[4, 4], strides=[4, 4])
    for _ in range(blocks):
        y = net.turned(net.conv(x, channels, channels, 7, groups=channels), 0, 2, 3, 1)
        y = net.layer_norm(y, channels)
        y = net.linear(net.gelu(net.linear(y, channels, 4 * channels)), 4 * channels, channels)
        y = net.turned(net.node("Mul", y, net.weight(channels)), 0, 3, 1, 2)
        x = net.node("Add", x, y)
    return net.scored(x, channels, classes)


def resnext(extent=56, channels=64, wide=128, filters=256, groups=32, blocks=3, classes=1000, batch=1):
    """The first stage of ResNeXt-50 32x4d (Xie et al. 2017, table 1)."""
    net = Vision(batch, extent)
    x = net.relu(net.conv(INPUT, 3, channels, 3))
    for _ in range(blocks):
        y = net.relu(net.conv(x, channels, wide, 1))
        y = net.relu(net.conv(y, wide, wide, 3, groups=groups))
        y = net.conv(y, wide, filters, 1, scale=0.3)
        x = net.relu(net.node("Add", y, x if channels == filters else net.conv(x, channels, filters, 1)))
        channels = filters
    return net.scored(x, channels, classes)


def super_resolution(extent=97, channels=64, scale=3, batch=1):
    """ESPCN (Shi et al. 2016): channels become pixels, as PyTorch once wrote it and as an operator, of odd extents."""
    net = Vision(batch, extent)
    x = net.relu(net.conv(net.relu(net.conv(INPUT, 3, channels, 5)), channels, channels // 2, 3))
    x = net.conv(x, channels // 2, 3 * scale * scale, 3)
    y = net.reshaped(x, batch, 3, scale, scale, extent, extent)
    y = net.reshaped(net.turned(y, 0, 1, 4, 2, 5, 3), batch, 3, scale * extent, scale * extent)
    z = net.node("DepthToSpace", x, blocksize=scale, mode="CRD")
    net.node("Add", y, z, output="image_out")
    return net.model({INPUT: net.shape}, {"image_out": (batch, 3, scale * extent, scale * extent)})


def style(extent=96, channels=32, blocks=2, batch=1):
    """Johnson et al. 2016, as PyTorch's example: padding by reflection, normalisation of each picture, nearest neighbours."""
    net = Vision(batch, extent)
    mirrored = lambda x, n: net.node("Pad", x, net.whole(0, 0, n, n, 0, 0, n, n), mode="reflect")

    def conv(x, channels, filters, kernel, stride=1):
        weights = net.weight(filters, channels, kernel, kernel)
        return net.node("Conv", mirrored(x, kernel // 2), weights, net.weight(filters), kernel_shape=[kernel] * 2, strides=[stride] * 2)

    ones = lambda n: net.constant(1 + 0.1 * net.rng.standard_normal(n))
    normal = lambda x, n: net.node("InstanceNormalization", x, ones(n), net.weight(n), epsilon=1e-5)
    c = channels
    x = net.relu(normal(conv(INPUT, 3, c, 9), c))
    x = net.relu(normal(conv(x, c, 2 * c, 3, 2), 2 * c))
    for _ in range(blocks):
        y = net.relu(normal(conv(x, 2 * c, 2 * c, 3), 2 * c))
        x = net.node("Add", normal(conv(y, 2 * c, 2 * c, 3), 2 * c), x)
    x = net.node("Resize", x, "", net.constant([1, 1, 2, 2]), mode="nearest")
    x = net.relu(normal(conv(x, 2 * c, c, 3), c))
    side = extent // 2 * 2 if extent % 2 == 0 else extent + 1
    net.node("Tanh", conv(x, c, 3, 9), output="image_out")
    return net.model({INPUT: net.shape}, {"image_out": (batch, 3, side, side)})


def diffusion(extent=32, channels=64, groups=32, batch=2):
    """A block of a diffusion network's U-Net: groups normalised as PyTorch writes them, by instances of another shape, swish, a time's vector."""
    net = Sequences(batch, extent)

    def normal(x, c, side):
        flat = net.reshaped(x, 0, groups, -1)
        y = net.node("InstanceNormalization", flat, net.constant(np.ones(groups)), net.constant(np.zeros(groups)), epsilon=1e-5)
        y = net.reshaped(y, batch, c, side, side)
        return net.node("Add", net.node("Mul", y, net.constant(1 + 0.1 * net.rng.standard_normal((c, 1, 1)))), net.weight(c, 1, 1))

    x = net.conv(INPUT, 3, channels, 3)
    for _ in range(2):
        y = net.conv(net.swish(normal(x, channels, extent)), channels, channels, 3)
        time = net.node("Gemm", net.swish("time"), net.weight(channels, 4 * channels), net.weight(channels), transB=1)
        y = net.node("Add", y, net.node("Unsqueeze", net.node("Unsqueeze", time, net.whole(2)), net.whole(3)))
        y = net.conv(net.swish(normal(y, channels, extent)), channels, channels, 3)
        x = net.node("Add", x, y)
    # Attention over places.
    rows = net.turned(net.reshaped(normal(x, channels, extent), batch, channels, extent * extent), 0, 2, 1)
    attended = net.attention(rows, batch, extent * extent, channels, 4)
    x = net.node("Add", x, net.reshaped(net.turned(attended, 0, 2, 1), batch, channels, extent, extent))
    net.node("Conv", net.swish(normal(x, channels, extent)), net.weight(4, channels, 3, 3), net.weight(4), kernel_shape=[3, 3], pads=[1] * 4, output="noise")
    return net.model({INPUT: net.shape, "time": (batch, 4 * channels)}, {"noise": (batch, 4, extent, extent)})


def deeplab(extent=33, channels=64, classes=21, batch=1):
    """The head of DeepLabV3 (Chen et al. 2017, figure 5): windows of several widths, a mean spread by Resize, joined and enlarged."""
    net = Vision(batch, extent)
    x = net.relu(net.conv(INPUT, 3, channels, 3))
    half = channels // 2
    own = [net.relu(net.conv(x, channels, half, 1))]
    own += [net.relu(net.oblong(x, channels, half, 3, 3, dilation=d)) for d in (3, 6, 9)]
    mean = net.relu(net.conv(net.node("GlobalAveragePool", x), channels, half, 1))
    linear = dict(mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    own.append(net.node("Resize", mean, "", "", net.whole(batch, half, extent, extent), **linear))
    x = net.relu(net.conv(net.joined(*own), 5 * half, half, 1))
    x = net.conv(x, half, classes, 1)
    net.node("Resize", x, "", "", net.whole(batch, classes, 4 * extent, 4 * extent), output="scores", **linear)
    return net.model({INPUT: net.shape}, {"scores": (batch, classes, 4 * extent, 4 * extent)})


def ghostnet(extent=57, channels=24, wide=72, blocks=2, classes=100, batch=3):
    """Blocks of GhostNet (Han et al. 2020, figure 2) as PyTorch's: half of the channels by cheap windows, cut to size by Slice, padded by a node."""
    net = Vision(batch, extent)

    def ghost(x, channels, filters, act):
        half = (filters + 1) // 2
        first = act(net.conv(x, channels, half, 1))
        cheap = act(net.conv(first, half, half, 3, groups=half))
        return net.node("Slice", net.joined(first, cheap), net.whole(0), net.whole(filters), net.whole(1), net.whole(1))

    x = net.node("Pad", INPUT, net.whole(0, 0, 0, 0, 0, 0, 1, 1))
    weights = net.weight(channels, 3, 3, 3)
    x = net.relu(net.node("Conv", x, weights, net.weight(channels), kernel_shape=[3, 3], strides=[2, 2]))
    for _ in range(blocks):
        y = ghost(x, channels, wide + 1, net.relu)
        y = squeezed(net, y, wide + 1, wide // 4, net.relu, lambda x: net.node("HardSigmoid", x, alpha=1 / 6))
        x = net.node("Add", ghost(y, wide + 1, channels, lambda x: x), x)
    return net.scored(x, channels, classes)
