"""Networks that others designed, as exporters write them: what moves elements is nodes of its own, normalisations and activations are taken apart.

    .venv/bin/python bench/architectures.py NAME|all FOLDER [--small]

makes NAME.onnx, with weights that are random but seeded and scaled so that activations stay near one. Small ones have the same nodes in fewer
channels, rows and repeats: the tests run them.
"""

import functools
import sys
from pathlib import Path

import onnx

import pictures
import sequences

# Each with what makes it small.
ARCHITECTURES = {
    "shufflenetv2": (pictures.shufflenetv2, {}, dict(extent=33, first=8, stages=((12, 2), (24, 2)), last=16, classes=10)),
    "mobilenetv3": (pictures.mobilenetv3, {}, dict(extent=33, first=8, blocks=[(3, 8, 8, 1, 0, 2), (5, 24, 12, 1, 1, 2), (3, 24, 12, 0, 1, 1)], last=(24, 32), classes=10)),
    "mobilenetv3 taken apart": (pictures.mobilenetv3, dict(apart=True, batch=2), dict(extent=33, first=8, blocks=[(3, 8, 8, 1, 0, 2), (5, 24, 12, 1, 1, 2)], last=(24, 32), classes=10)),
    "efficientnet": (pictures.efficientnet, {}, dict(extent=33, first=8, stages=[(1, 8, 1, 1, 3), (3, 12, 2, 2, 5)], last=32, classes=10)),
    "densenet": (pictures.densenet, {}, dict(extent=35, first=8, growth=4, layers=(3, 2), classes=10)),
    "unet": (pictures.unet, {}, dict(extent=16, first=4, depth=2)),
    "inception": (pictures.inception, {}, dict(extent=9, channels=6, wide=4, seven=4, classes=10)),
    "yolo": (pictures.yolo, {}, dict(extent=32, first=2, classes=3)),
    "convnext": (pictures.convnext, {}, dict(extent=20, channels=12, blocks=1, classes=10)),
    "resnext": (pictures.resnext, {}, dict(extent=9, channels=8, wide=16, filters=16, groups=8, blocks=2, classes=10)),
    "super_resolution": (pictures.super_resolution, {}, dict(extent=9, channels=8)),
    "style": (pictures.style, {}, dict(extent=12, channels=4, blocks=1)),
    "diffusion": (pictures.diffusion, {}, dict(extent=5, channels=8, groups=4)),
    "deeplab": (pictures.deeplab, {}, dict(extent=9, channels=8, classes=3)),
    "ghostnet": (pictures.ghostnet, {}, dict(extent=13, channels=6, wide=12, blocks=1, classes=5)),
    "vit": (sequences.vit, {}, dict(extent=12, patch=4, columns=12, heads=3, layers=1, classes=10)),
    "vit taken apart": (sequences.vit, dict(apart=True, extent=97, patch=16, batch=2), dict(extent=13, patch=4, columns=12, heads=3, layers=1, classes=10, batch=2)),
    "bert": (sequences.bert, {}, dict(rows=7, columns=12, heads=2, layers=1, words=20, most=16, batch=2)),
    "gpt": (sequences.gpt, {}, dict(rows=7, columns=12, heads=2, layers=1, words=20, most=16)),
    "llama": (sequences.llama, {}, dict(rows=6, columns=16, heads=4, groups=2, wide=20, layers=1)),
    "swin": (sequences.swin, {}, dict(extent=8, window=4, columns=12, heads=3)),
    "temporal": (sequences.temporal, {}, dict(length=20, channels=6, layers=2)),
}


# Of their real sizes.
BUILDERS = {name: functools.partial(build, **real) for name, (build, real, _) in ARCHITECTURES.items()}


def made(name, small=False):
    return BUILDERS[name](**(ARCHITECTURES[name][2] if small else {}))


if __name__ == "__main__":
    names = list(ARCHITECTURES) if sys.argv[1:2] == ["all"] else sys.argv[1:2]
    if len(sys.argv) not in (3, 4) or not set(names) <= set(ARCHITECTURES) or sys.argv[3:] not in ([], ["--small"]):
        sys.exit(__doc__)
    for own in names:
        onnx.save(made(own, len(sys.argv) == 4), Path(sys.argv[2]) / f"{own.replace(chr(32), chr(95))}.onnx")
