#!/usr/bin/env python3
"""The operators that paper 001 evaluates (section 5.2), on the simulated GPUs of its phones. Makes bench/settings.md and its plots.

    cargo build --release -p warpsight && python3 bench/settings.py            # hours: one --device at a time resumes where it stopped
    python3 bench/settings.py --count                                          # how many there are of each kind

All convolutions of SqueezeNet 1.0, MobileNetV1, ResNet-18 and InceptionV3 and two fully connected layers of BERT, each once, halves in memory and
arithmetic in float, which is our assumption for that paper. Every kernel is the model's pick, unmeasured, verified and simulated. What is
published was measured on phones and is not run again.
"""

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path

from common import TARGET, call, write_json

ROOT = Path(__file__).resolve().parent.parent
DEVICES = ["adreno630", "adreno640", "mali-g76", "adreno740"]
# Of the Adreno 740 public documents say too little: there the probe's profile says it.
PROFILES = {"adreno740": ROOT / "profiles/sim-adreno740.toml"}
KINDS = ["1x1", "3x3", "depthwise", "other", "fully connected"]
# Mean, greatest and least speedup over TVM of a category, as published (section 5.3): Adreno 640, Mali-G76.
PUBLISHED = {
    "1x1": ((14.7, 39.9, 5.4), (3.3, 18.1, 1.6)),
    "3x3": ((8.6, 17.3, 4.1), (2.7, 4.1, 1.4)),
    "depthwise": ((8.1, 10.7, 5.7), (7.1, 10.0, 4.7)),
    "other": ((7.0, 9.8, 3.1), (2.4, 3.0, 1.4)),
    "fully connected": ((8.1, 8.23, 7.87), (3.6, 4.6, 2.7)),
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


def settings():
    """Each operator once, in the order in which it first appears."""
    distinct = {}
    for own in [*(layer for network in NETWORKS.values() for layer in network()), *BERT]:
        distinct.setdefault(own["op"], own)
    return list(distinct.values())


def counts():
    found = [own["kind"] for own in settings()]
    return {kind: found.count(kind) for kind in KINDS}


def bounds(args, device):
    """The least that kernels of each operator can take on a device, as it is, by its profile (predicted), by operator."""
    operators = [one["op"] for one in settings()]
    with tempfile.TemporaryDirectory() as folder:
        command = [args.warpsight, "devices", "--profile", PROFILES.get(device, device), "--roofline", Path(folder) / "roofline.svg", "--json"]
        text, why = call(command + [word for op in operators for word in ("--op", op)], args.timeout)
    if why:
        sys.exit(f"error: no bounds: {why}")
    return {own["op"]: own["bound_s"] for own in json.loads(text)["operators"]}


def simulate(args, own, device):
    command = [args.warpsight, "optimize", "--op", own["op"], "--device", f"sim:{device}", "--json", "--store", args.store]
    command += ["--profile", PROFILES[device]] if device in PROFILES else []
    text, why = call(command, args.timeout)
    if why:
        return {"failed": why}
    found = json.loads(text)
    own = found["chosen"]
    return {"time_s": own["time_s"], "predicted_s": own["predicted_s"], "sequence": found["sequence"], "paths": paths(own["config"])}


def paths(config):
    """How a pick reads activations and constants: `image`, `buffer`, or both of its kernels, as `activations/constants`."""
    steps = config if isinstance(config, list) else [config]
    found = {False: set(), True: set()}
    for step in steps:
        for knob, place in step.items():
            if knob.startswith("place_") and not knob.startswith("place_output"):
                found["weight" in knob].add("image" if place == "image" else "buffer")
    word = lambda own: "+".join(sorted(own)) or "-"
    return f"{word(found[False])}/{word(found[True])}"


def plot(device, own, width=960, height=220):
    """One picture: the layers of each network, one network below the other."""
    charts = []
    for at, (name, network) in enumerate(NETWORKS.items()):
        layers = [(layer["name"], layer["flops"] / own[layer["op"]]["time_s"] * 1e-9) for layer in network() if "time_s" in own.get(layer["op"], {})]
        charts.append(f'<g transform="translate(0 {at * height})">{bar_chart(f"{name} on sim:{device}", layers, width, height)}</g>')
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height * len(charts)}" font-family="sans-serif">{"".join(charts)}</svg>\n'


def bar_chart(title, layers, width, height):
    """GFLOP/s of layers in order."""
    most = max((value for _, value in layers), default=1.0) or 1.0
    step = (width - 60) / max(1, len(layers))
    bars = []
    for at, (name, value) in enumerate(layers):
        tall = value / most * (height - 50)
        bars.append(f'<rect x="{50 + at * step:.1f}" y="{height - 20 - tall:.1f}" width="{max(1.0, step - 1):.1f}" height="{tall:.1f}" fill="#4477aa"><title>{name}: {value:.1f} GFLOP/s</title></rect>')
    lines = [f'<line x1="50" y1="{height - 20 - part * (height - 50):.1f}" x2="{width - 10}" y2="{height - 20 - part * (height - 50):.1f}" stroke="#ddd"/><text x="4" y="{height - 16 - part * (height - 50):.1f}" font-size="10">{most * part:.0f}</text>' for part in (0, 0.5, 1)]
    return f'<text x="4" y="14" font-size="12">{title} (simulated, GFLOP/s by layer in order)</text>{"".join(lines)}{"".join(bars)}'


def report(args, results):
    text = [
        "# The operators of paper 001 on simulated phones",
        "",
        "Made by `bench/settings.py`; times are simulated, the picks are the model's, unmeasured and verified; halves in memory, arithmetic in float.",
        f"There are {sum(counts().values())} operators, each once: " + ", ".join(f"{n} {kind}" for kind, n in counts().items()) + ". The paper counts 96, of",
        "1 x 1 45: which of ours it does not count is not said.",
        "",
        "## By category",
        "",
        "Mean, greatest and least GFLOP/s, the same of the bound (the most of arithmetic, memory moved once, and first levels with the registers that keep a group of the greatest size, by the profile). `published`: mean [greatest, least]",
        "speedup over TVM on a phone, published, not rerun.",
        "",
        "| device | category | operators | GFLOP/s | of the bound | published |",
        "|---|---|---|---|---|---|",
    ]
    for device, own in results.items():
        least = bounds(args, device)
        for kind in KINDS:
            layers = [one for one in settings() if one["kind"] == kind and "time_s" in own.get(one["op"], {})]
            if not layers:
                continue
            rates = [one["flops"] / own[one["op"]]["time_s"] for one in layers]
            parts = [least[one["op"]] / own[one["op"]]["time_s"] for one in layers]
            three = lambda values, scale: " / ".join(f"{f(values) * scale:.0f}" for f in (lambda v: sum(v) / len(v), max, min))
            published = {"adreno640": 0, "mali-g76": 1}.get(device)
            said = "-" if published is None else "{} [{}, {}]".format(*PUBLISHED[kind][published])
            text.append(f"| sim:{device} | {kind} | {len(layers)} | {three(rates, 1e-9)} | {three(parts, 100)} % | {said} |")
    text += ["", "## Whole networks, their convolutions alone, ms", "", "| device | " + " | ".join(NETWORKS) + " |", "|---" * (1 + len(NETWORKS)) + "|"]
    for device, own in results.items():
        total = lambda network: [own.get(layer["op"], {}).get("time_s") for layer in network()]
        cells = [f"{sum(times) * 1e3:.2f}" if None not in times else "-" for times in map(total, NETWORKS.values())]
        text.append(f"| sim:{device} | " + " | ".join(cells) + " |")
    text += ["", "## Two ways to read", "", "What picks read activations and constants from: how many operators.", "", "| device | activations/constants |", "|---|---|"]
    for device, own in results.items():
        ways = [own[one["op"]]["paths"] for one in settings() if "paths" in own.get(one["op"], {})]
        text.append(f"| sim:{device} | " + ", ".join(f"{way} {ways.count(way)}" for way in sorted(set(ways), key=ways.count, reverse=True)) + " |")
    text += ["", "## Boundaries", "", "| device | 17 x 17, 7 x 1, 128 to 128: ns an output | 16 x 16 | ratio |", "|---|---|---|---|"]
    for device, own in results.items():
        pair = [own.get(layer["op"], {}).get("time_s") for layer in BOUNDARY]
        if None not in pair:
            each = [time / outputs * 1e9 for time, outputs in zip(pair, (128 * 17 * 17, 128 * 16 * 16))]
            text.append(f"| sim:{device} | {each[0]:.4f} | {each[1]:.4f} | {each[0] / each[1]:.2f} |")
    failed = [(device, op, one["failed"]) for device, own in results.items() for op, one in own.items() if "failed" in one]
    if failed:
        text += ["", "## Left out", ""] + [f"- sim:{device}, `{op}`: {why}" for device, op, why in failed]
    return "\n".join(text) + "\n"


# Paper 001's worst case, and the extent beside it that is no prime number.
BOUNDARY = [conv(128, 17, 128, (7, 1)), conv(128, 16, 128, (7, 1))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", action="append", choices=DEVICES, help="only these (all)")
    parser.add_argument("--count", action="store_true", help="print how many operators there are of each kind, and run none")
    parser.add_argument("--sample", type=int, default=1, help="every n-th operator alone; nothing is written")
    parser.add_argument("--warpsight", default=TARGET / "release/warpsight", type=Path)
    parser.add_argument("--store", default=TARGET / "settings.sqlite", type=Path, help="kernels that were simulated stay there")
    parser.add_argument("--results", default=ROOT / "bench/settings.json", type=Path, help="what was found, written as it comes")
    parser.add_argument("--timeout", type=float, default=600)
    args = parser.parse_args()
    if args.count:
        print(json.dumps(counts()))
        return
    results = json.loads(args.results.read_text()) if args.results.exists() else {}
    for device in args.device or DEVICES:
        own = results.setdefault(device, {})
        for number, one in enumerate([*settings(), *BOUNDARY][:: args.sample]):
            if "time_s" not in own.get(one["op"], {}):
                own[one["op"]] = simulate(args, one, device)
                if args.sample == 1:
                    write_json(args.results, results)
            print(f"{device} {number}: {one['name']}: {own[one['op']]}", file=sys.stderr)
    if args.sample > 1:
        return
    (ROOT / "bench/settings.md").write_text(report(args, {device: results[device] for device in DEVICES if device in results}))
    for device, own in results.items():
        (ROOT / f"bench/settings-{device}.svg").write_text(plot(device, own))


if __name__ == "__main__":
    main()
