"""The operators that the papers evaluate, and what is published of them. `bench/settings.py` simulates them.

Of paper 001 (section 5.2) all convolutions of SqueezeNet 1.0, MobileNetV1, ResNet-18 and InceptionV3 and two fully connected layers of BERT, halves in
memory and arithmetic in float, which is our assumption for that paper; of paper 000 the nine operators of table 3, in f32.
"""

import math

# Mean, greatest and least speedup over TVM of a category, as published (section 5.3): Adreno 640, Mali-G76.
PUBLISHED = {
    "1x1": ((14.7, 39.9, 5.4), (3.3, 18.1, 1.6)),
    "3x3": ((8.6, 17.3, 4.1), (2.7, 4.1, 1.4)),
    "depthwise": ((8.1, 10.7, 5.7), (7.1, 10.0, 4.7)),
    "other": ((7.0, 9.8, 3.1), (2.4, 3.0, 1.4)),
    "fully connected": ((8.1, 8.23, 7.87), (3.6, 4.6, 2.7)),
}

# How many times as fast as Mace on an Adreno 640, the mean of a category.
OVER_MACE = {"1x1": 1.24, "3x3": 1.23, "depthwise": 1.49, "other": 1.03, "fully connected": 2.2}
# Whole networks over TVM, least and greatest, and over Mace, greatest (section 5.3, figure 15): of each network alone the paper has a bar and no number.
OVER_NETWORKS = {"adreno630": ("6.6 to 9.1", "up to 1.28"), "adreno640": ("6.6 to 9.1", "up to 1.21"), "mali-g76": ("2.3 to 2.8", "up to 1.37")}
# Mean and greatest speedup of paper 000 over MNN, CLML, TVM, TFLite and PPT-GPU, on an Adreno 740; nothing where one has no such operator.
BASELINES = ["MNN", "CLML", "TVM", "TFLite", "PPT-GPU"]
OVER_BASELINES = {
    "MatMul": [(2.57, 3.73), (6.04, 9.17), (5.34, 11.9), (1.20, 3.22), (1.47, 2.78)],
    "Conv2Ds1": [(1.35, 1.57), (2.06, 2.55), (1.18, 1.80), (1.12, 1.53), (1.07, 1.38)],
    "Conv2Ds2": [(1.19, 1.82), (1.42, 2.49), (1.42, 4.36), (1.20, 1.63), (1.16, 1.81)],
    "DeConv2Ds1": [(2.16, 2.41), (2.32, 2.70), (1.71, 4.13), (1.45, 3.49), (1.79, 2.41)],
    "DeConv2Ds2": [(2.18, 2.42), (6.57, 7.45), (3.96, 8.60), (1.20, 2.53), (1.27, 2.42)],
    "Conv3D": [None, None, (6.62, 8.67), None, (4.47, 8.67)],
    "DwConv2D": [(2.49, 3.41), (1.62, 4.11), (2.10, 4.85), (1.76, 3.24), (2.13, 3.41)],
    "SoftMax": [(4.85, 8.88), (3.62, 12.5), (2.32, 4.36), (1.31, 8.83), (2.28, 8.88)],
    "LayerNorm": [(3.43, 4.34), None, (7.77, 18.2), (3.64, 14.1), (2.53, 4.34)],
}


def conv(c, extent, k, window, stride=1, pad=None, groups=1):
    """A convolution of a square picture; `window` is one number or rows and columns, padded so that extents stay unless said."""
    r, s = window if isinstance(window, tuple) else (window, window)
    rows, columns = (r // 2, s // 2) if pad is None else (pad, pad)
    out = [(extent + 2 * p - w) // stride + 1 for p, w in ((rows, r), (columns, s))]
    if groups > 1:
        op = f"dwconv2d n=1 c={c} h={extent} w={extent} r={r} s={s} stride={stride} pad={rows} dtype=f16s"
    else:
        sides = f"pad={rows}" if rows == columns else f"pad={rows} padw={columns}"
        op = f"conv2d n=1 c={c} h={extent} w={extent} k={k} r={r} s={s} stride={stride} {sides} dtype=f16s"
    kind = "depthwise" if groups > 1 else {(1, 1): "1x1", (3, 3): "3x3"}.get((r, s), "other")
    products = math.prod(out) * k * r * s * (c // groups)
    name = f"{c} x {extent}² to {k}, {r} x {s}" + (f" / {stride}" if stride > 1 else "")
    return {"op": op, "kind": kind, "flops": 2 * products, "name": name}


def connected(k, m):
    return {"op": f"fc n=1 k={k} m={m} dtype=f16s", "kind": "fully connected", "flops": 2 * k * m, "name": f"{k} to {m}"}


def squeezenet():
    yield conv(3, 224, 96, 7, 2, 0)
    fires = [(54, 96, 16, 64), (54, 128, 16, 64), (54, 128, 32, 128), (27, 256, 32, 128), (27, 256, 48, 192), (27, 384, 48, 192), (27, 384, 64, 256), (13, 512, 64, 256)]
    for extent, c, few, many in fires:
        yield conv(c, extent, few, 1)
        yield conv(few, extent, many, 1)
        yield conv(few, extent, many, 3)
    yield conv(512, 13, 1000, 1)


def mobilenet():
    yield conv(3, 224, 32, 3, 2)
    blocks = [(32, 112, 64, 1), (64, 112, 128, 2), (128, 56, 128, 1), (128, 56, 256, 2), (256, 28, 256, 1), (256, 28, 512, 2)]
    blocks += [(512, 14, 512, 1)] * 5 + [(512, 14, 1024, 2), (1024, 7, 1024, 1)]
    for c, extent, k, stride in blocks:
        yield conv(c, extent, c, 3, stride, groups=c)
        yield conv(c, extent // stride, k, 1)


def resnet18():
    yield conv(3, 224, 64, 7, 2)
    for _ in range(4):
        yield conv(64, 56, 64, 3)
    for c, extent in ((64, 56), (128, 28), (256, 14)):
        yield conv(c, extent, 2 * c, 3, 2)
        yield conv(2 * c, extent // 2, 2 * c, 3)
        yield conv(c, extent, 2 * c, 1, 2, 0)
        for _ in range(2):
            yield conv(2 * c, extent // 2, 2 * c, 3)


def inception():
    yield conv(3, 299, 32, 3, 2, 0)
    yield conv(32, 149, 32, 3, 1, 0)
    yield conv(32, 147, 64, 3)
    yield conv(64, 73, 80, 1)
    yield conv(80, 73, 192, 3, 1, 0)
    for c, pooled in ((192, 32), (256, 64), (288, 64)):
        yield conv(c, 35, 64, 1)
        yield conv(c, 35, 48, 1)
        yield conv(48, 35, 64, 5)
        yield conv(c, 35, 64, 1)
        yield conv(64, 35, 96, 3)
        yield conv(96, 35, 96, 3)
        yield conv(c, 35, pooled, 1)
    yield conv(288, 35, 384, 3, 2, 0)
    yield conv(288, 35, 64, 1)
    yield conv(64, 35, 96, 3)
    yield conv(96, 35, 96, 3, 2, 0)
    row, column = (1, 7), (7, 1)
    for few in (128, 160, 160, 192):
        yield conv(768, 17, 192, 1)
        yield conv(768, 17, few, 1)
        yield conv(few, 17, few, row)
        yield conv(few, 17, 192, column)
        yield conv(768, 17, few, 1)
        yield conv(few, 17, few, column)
        yield conv(few, 17, few, row)
        yield conv(few, 17, few, column)
        yield conv(few, 17, 192, row)
        yield conv(768, 17, 192, 1)
    yield conv(768, 17, 192, 1)
    yield conv(192, 17, 320, 3, 2, 0)
    yield conv(768, 17, 192, 1)
    yield conv(192, 17, 192, row)
    yield conv(192, 17, 192, column)
    yield conv(192, 17, 192, 3, 2, 0)
    for c in (1280, 2048):
        yield conv(c, 8, 320, 1)
        yield conv(c, 8, 384, 1)
        yield conv(384, 8, 384, (1, 3))
        yield conv(384, 8, 384, (3, 1))
        yield conv(c, 8, 448, 1)
        yield conv(448, 8, 384, 3)
        yield conv(384, 8, 384, (1, 3))
        yield conv(384, 8, 384, (3, 1))
        yield conv(c, 8, 192, 1)


NETWORKS = {"SqueezeNet 1.0": squeezenet, "MobileNetV1": mobilenet, "ResNet-18": resnet18, "InceptionV3": inception}
BERT = [connected(768, 3072), connected(3072, 768)]


# Paper 001's worst case, and the extent beside it that is no prime number.
BOUNDARY = [conv(128, 17, 128, (7, 1)), conv(128, 16, 128, (7, 1))]


def romou():
    """Each operator of paper 001 once, in the order in which it first appears."""
    distinct = {}
    for own in [*(layer for network in NETWORKS.values() for layer in network()), *BERT]:
        distinct.setdefault(own["op"], own)
    return list(distinct.values())


def table3():
    """Paper 000's nine operators, each at sizes that double over the range of its table 3.

    The table says extents and windows; channels are our assumption: 32, of volumes 8, which are 8 deep. Windows of 3, 5 and 7 take turns.
    Products end at 1024³ and volumes at 8 x 128², where its ranges end at 4096³ and 512².
    """
    for size in (2**n for n in range(4, 11)):
        yield own("MatMul", f"matmul m={size} n={size} k={size}", f"{size}³", 2 * size**3)
    sides = [(2**n, (3, 5, 7)[(n - 4) % 3]) for n in range(4, 10)]
    c = 32
    for kind, stride in (("Conv2Ds1", 1), ("Conv2Ds2", 2)):
        for h, r in sides:
            op = f"conv2d n=1 c={c} h={h} w={h} k={c} r={r} s={r} stride={stride} pad={r // 2}"
            yield own(kind, op, f"{h}², {r} x {r}", 2 * (h // stride) ** 2 * c * c * r * r)
    for kind, stride in (("DeConv2Ds1", 1), ("DeConv2Ds2", 2)):
        for h, r in sides:
            # Every element in goes to r² elements of each channel out, but for those beyond the edge.
            op = f"deconv2d n=1 c={c} h={h} w={h} k={c} r={r} s={r} stride={stride} pad={r // 2}"
            yield own(kind, op, f"{h}², {r} x {r}", 2 * h**2 * c * c * r * r)
    for h, r in sides[:4]:
        op = f"conv3d n=1 c=8 d=8 h={h} w={h} k=8 t={r} r={r} s={r} pad={r // 2}"
        yield own("Conv3D", op, f"8 x {h}², {r}³", 2 * 8 * h**2 * 64 * r**3)
    for h, r in sides:
        yield own("DwConv2D", f"dwconv2d n=1 c={c} h={h} w={h} r={r} s={r} pad={r // 2}", f"{h}², {r} x {r}", 2 * h**2 * c * r * r)
    # Five operations an element: greatest, difference, power, sum, quotient; of the other: sum, square, its sum, difference and product, product and sum.
    for kind, word, each in (("SoftMax", "softmax", 5), ("LayerNorm", "layernorm", 7)):
        for size in (2**n for n in range(4, 13)):
            yield own(kind, f"{word} n={size} c={size}", f"{size}²", each * size**2)


def own(kind, op, name, flops):
    return {"op": f"{op} dtype=f32", "kind": kind, "flops": flops, "name": name}


def counts(operators):
    """How many there are of each kind, kinds in the papers' order."""
    found = [own["kind"] for own in operators]
    return {kind: found.count(kind) for kind in [*PUBLISHED, *OVER_BASELINES] if kind in found}
