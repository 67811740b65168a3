#!/usr/bin/env python3
"""The operators that papers 001 (section 5.2) and 000 (table 3) evaluate, on the simulated GPUs of their phones.

    cargo build --release -p warpsight && python3 bench/settings.py            # hours: one --device at a time resumes where it stopped
    python3 bench/settings.py --count                                          # how many there are of each kind
    python3 bench/settings.py --draw                                           # bars and published columns of the page that there is, once more

Makes bench/settings.md (001) and bench/table3.md (000) with their plots; `bench/workloads.py` lists the operators. Every kernel is the model's pick,
unmeasured, verified and simulated. What is published was measured on phones and is not run again.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import charts
from common import TARGET, call, write_json
from workloads import BASELINES, BOUNDARY, NETWORKS, OVER_BASELINES, OVER_MACE, OVER_NETWORKS, PUBLISHED, counts, romou, table3

ROOT = Path(__file__).resolve().parent.parent
# Devices of each paper, and what it evaluates.
PAPERS = {
    "001": (["adreno630", "adreno640", "mali-g76", "adreno740"], lambda: [*romou(), *BOUNDARY]),
    "000": (["adreno740", "mali-g77"], lambda: list(table3())),
}
DEVICES = list(dict.fromkeys(device for devices, _ in PAPERS.values() for device in devices))
# What the probe found of the simulated devices; public documents leave out what latencies and caches are.
PROFILES = {device: ROOT / f"profiles/sim-{device}.toml" for device in DEVICES}
PAGE = ROOT / "bench/settings.md"
HEAD = "| device | category | operators | GFLOP/s | of the bound | published |"
FIGURES = [
    "",
    "![GFLOP/s of each category, and published speedups](settings-categories.svg)",
    "",
    "Paper 001's figures 13 and 16 as bars: GFLOP/s of each category (13a, simulated), beside them what the paper gains over TVM (13b) and Mace, published, not rerun.",
    "Of figure 16 (TFLite) its text says “up to 2×” alone.",
]


def bounds(args, device, operators):
    """The least that kernels of each operator can take on a device, as it is, by its profile (predicted), by operator."""
    with tempfile.TemporaryDirectory() as folder:
        command = [args.warpsight, "devices", "--profile", PROFILES.get(device, device), "--roofline", Path(folder) / "roofline.svg", "--json"]
        text, why = call(command + [word for one in operators for word in ("--op", one["op"])], args.timeout)
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
    return {"time_s": own["time_s"], "predicted_s": own["predicted_s"], "sequence": found["sequence"], "paths": paths(own["config"]), "profile": found["profile"]}


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


def categories(args, device, own, operators):
    """Each kind with cells: how many, and mean, greatest and least GFLOP/s and the same of the bound."""
    least = bounds(args, device, operators)
    word = lambda value: f"{value:.0f}" if value >= 10 else f"{value:.2g}"
    three = lambda values, scale: " / ".join(word(f(values) * scale) for f in (lambda v: sum(v) / len(v), max, min))
    for kind in counts(operators):
        done = [one for one in operators if one["kind"] == kind and "time_s" in own.get(one["op"], {})]
        if done:
            rates = [one["flops"] / own[one["op"]]["time_s"] for one in done]
            parts = [least[one["op"]] / own[one["op"]]["time_s"] for one in done]
            yield kind, f"{len(done)} | {three(rates, 1e-9)} | {three(parts, 100)} %"


def judged(results, operators):
    """By which profiles kernels were chosen."""
    asked = {one["op"] for one in operators}
    names = {one["profile"] for own in results.values() for op, one in own.items() if op in asked and "profile" in one}
    return f"chosen by the profiles {', '.join(sorted(names)) or 'of an earlier run'}"


def left_out(results, operators):
    asked = {one["op"] for one in operators}
    failed = [(device, op, one["failed"]) for device, own in results.items() for op, one in own.items() if op in asked and "failed" in one]
    return ["", "## Left out", ""] + [f"- sim:{device}, `{op}`: {why}" for device, op, why in failed] if failed else []


def romou_page(args, results):
    text = [
        "# The operators of paper 001 on simulated phones",
        "",
        f"Made by `bench/settings.py` on {time.strftime('%Y-%m-%d')}, {judged(results, romou())}; times are simulated, the picks are the model's, unmeasured and verified; halves in memory, arithmetic in float.",
        f"There are {sum(counts(romou()).values())} operators, each once: " + ", ".join(f"{n} {kind}" for kind, n in counts(romou()).items()) + ". The paper counts 96, of",
        "1 x 1 45: which of ours it does not count is not said.",
        "",
        "## By category",
        "",
        "Mean, greatest and least GFLOP/s, the same of the bound (the most of arithmetic, memory moved once, and first levels with the registers that keep a group of the greatest size, by the profile). `published`: mean [greatest, least]",
        "speedup over TVM on a phone, published, not rerun.",
        "",
        HEAD,
        "|---|---|---|---|---|---|",
    ]
    for device, own in results.items():
        published = {"adreno640": 0, "mali-g76": 1}.get(device)
        for kind, cells in categories(args, device, own, romou()):
            said = "-" if published is None else "{} [{}, {}]".format(*PUBLISHED[kind][published])
            text.append(f"| sim:{device} | {kind} | {cells} | {said} |")
    text += FIGURES
    totals = {}
    for device, own in results.items():
        total = lambda network: [own.get(layer["op"], {}).get("time_s") for layer in network()]
        totals[f"sim:{device}"] = [f"{sum(times) * 1e3:.2f}" if None not in times else "-" for times in map(total, NETWORKS.values())]
    text += [""] + networks(totals)
    text += ["", "## Two ways to read", "", "What picks read activations and constants from: how many operators.", "", "| device | activations/constants |", "|---|---|"]
    for device, own in results.items():
        ways = [own[one["op"]]["paths"] for one in romou() if "paths" in own.get(one["op"], {})]
        text.append(f"| sim:{device} | " + ", ".join(f"{way} {ways.count(way)}" for way in sorted(set(ways), key=ways.count, reverse=True)) + " |")
    text += ["", "## Boundaries", "", "| device | 17 x 17, 7 x 1, 128 to 128: ns an output | 16 x 16 | ratio |", "|---|---|---|---|"]
    for device, own in results.items():
        pair = [own.get(layer["op"], {}).get("time_s") for layer in BOUNDARY]
        if None not in pair:
            each = [time / outputs * 1e9 for time, outputs in zip(pair, (128 * 17 * 17, 128 * 16 * 16))]
            text.append(f"| sim:{device} | {each[0]:.4f} | {each[1]:.4f} | {each[0] / each[1]:.2f} |")
    text += left_out(results, romou())
    return "\n".join(text) + "\n"


TOTALS = "## Whole networks, their convolutions alone, ms"


def networks(totals):
    """The totals of networks by device, beside what the paper gains on the phone whose GPU is simulated."""
    heads = ["device", *NETWORKS, "over TVM, published", "over Mace, published"]
    text = [TOTALS, "", "Published, not rerun: how many times as fast as with TVM's and Mace's kernels a network is on a phone with the paper's, from the least to the greatest of the four (figure 15,"]
    text += ["whose bars of each have no numbers in the text). The times beside them are simulated, of our kernels alone.", "", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for device, cells in totals.items():
        said = OVER_NETWORKS.get(device.removeprefix("sim:"), ("-", "-"))
        text.append("| " + " | ".join([device, *cells, *said]) + " |")
    return text


def with_networks(page):
    """A page with this table made once more of the totals that it has."""
    before, _, rest = page.partition(TOTALS)
    table, _, after = rest.partition("\n## ")
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines() if line.startswith("| sim:")]
    return before + "\n".join(networks({row[0]: row[1 : 1 + len(NETWORKS)] for row in rows})) + "\n\n## " + after


def table3_page(args, results):
    operators = list(table3())
    text = [
        "# The nine operators of paper 000's table 3 on simulated phones",
        "",
        f"Made by `bench/settings.py --paper 000` on {time.strftime('%Y-%m-%d')}, {judged(results, operators)}; times are simulated, the picks are the model's, unmeasured and verified; f32.",
        f"There are {len(operators)}: " + ", ".join(f"{n} {kind}" for kind, n in counts(operators).items()) + ". Extents and windows are the table's; channels, which it does",
        "not say, are 32, of volumes 8; products end at 1024³ and volumes at 8 x 128², not at 4096³ and 512², since larger ones take minutes to choose and simulate.",
        "",
        "Mean, greatest and least GFLOP/s, the same of the bound. `published`: mean (greatest) speedup over " + ", ".join(BASELINES) + " on an Adreno 740, published, not",
        "rerun. The bound moves every byte through memory once, which caches may spare: so rows of softmax pass it.",
        "",
        HEAD,
        "|---|---|---|---|---|---|",
    ]
    for device, own in results.items():
        for kind, cells in categories(args, device, own, operators):
            said = [f"{pair[0]} ({pair[1]})" if pair else "-" for pair in OVER_BASELINES[kind]] if device == "adreno740" else ["-"]
            text.append(f"| sim:{device} | {kind} | {cells} | {', '.join(said)} |")
    text += ["", *(f"![GFLOP/s by size on sim:{device}](table3-{device}.svg)" for device in results)]
    for kind in counts(operators):
        text += ["", f"## {kind}", "", "| size | " + " | ".join(f"sim:{device}: µs | GFLOP/s | predicted µs" for device in results) + " |", "|---" * (1 + 3 * len(results)) + "|"]
        for one in (one for one in operators if one["kind"] == kind):
            cells = [cell for own in results.values() for cell in timed(one, own.get(one["op"], {}))]
            text.append(f"| {one['name']} | " + " | ".join(cells) + " |")
    return "\n".join(text + left_out(results, operators)) + "\n"


def timed(one, found):
    if "time_s" not in found:
        return ["-"] * 3
    return [f"{found['time_s'] * 1e6:.1f}", f"{one['flops'] / found['time_s'] * 1e-9:.3g}", f"{found['predicted_s'] * 1e6:.1f}"]


def rates(layers, own):
    """Names and GFLOP/s of what was simulated."""
    return [(one["name"], one["flops"] / own[one["op"]]["time_s"] * 1e-9) for one in layers if "time_s" in own.get(one["op"], {})]


def draw_categories(page):
    """Bars of the categories as a page's table has them, so that picture and table are one thing."""
    rows = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in page.splitlines() if line.startswith("| sim:")]
    drawn = []
    for device in dict.fromkeys(row[0] for row in rows if len(row) == 6):
        found = [(row[1], *map(float, row[3].split("/"))) for row in rows if row[0] == device and len(row) == 6]
        drawn.append(charts.categories(f"{device}, simulated", found, "GFLOP/s"))
    for at, phone in enumerate(("Adreno 640", "Mali-G76")):
        found = [(kind, *own[at]) for kind, own in PUBLISHED.items()]
        drawn.append(charts.categories(f"{phone}: paper 001 over TVM, published, not rerun", found, "times as fast", "#ccbb44"))
    found = [(kind, *[over] * 3) for kind, over in OVER_MACE.items()]
    drawn.append(charts.categories("Adreno 640: paper 001 over Mace, mean, published, not rerun", found, "times as fast", "#ccbb44"))
    (ROOT / "bench/settings-categories.svg").write_text(charts.stacked(drawn))


def write_romou(args, results):
    PAGE.write_text(romou_page(args, results))
    draw_categories(PAGE.read_text())
    for device, own in results.items():
        drawn = [charts.layers(f"{name} on sim:{device}", rates(network(), own)) for name, network in NETWORKS.items()]
        (ROOT / f"bench/settings-{device}.svg").write_text(charts.stacked(drawn))


def write_table3(args, results):
    (ROOT / "bench/table3.md").write_text(table3_page(args, results))
    operators = list(table3())
    for device, own in results.items():
        of = lambda kind: [one for one in operators if one["kind"] == kind]
        drawn = [charts.layers(f"{kind} on sim:{device}", rates(of(kind), own)) for kind in counts(operators)]
        (ROOT / f"bench/table3-{device}.svg").write_text(charts.stacked(drawn))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paper", action="append", choices=list(PAPERS), help="only its operators (both)")
    parser.add_argument("--device", action="append", choices=DEVICES, help="only these (all of a paper)")
    parser.add_argument("--count", action="store_true", help="print how many operators there are of each kind, and run none")
    parser.add_argument("--list", action="store_true", help="print the operators of both papers, each with its kind, and run none")
    parser.add_argument("--draw", action="store_true", help="make bars and published columns of bench/settings.md as it is once more, and run none")
    parser.add_argument("--sample", type=int, default=1, help="every n-th operator alone; nothing is written")
    parser.add_argument("--warpsight", default=TARGET / "release/warpsight", type=Path)
    parser.add_argument("--store", default=TARGET / "settings.sqlite", type=Path, help="kernels that were simulated stay there")
    parser.add_argument("--results", default=TARGET / "settings.json", type=Path, help="what was found, written as it comes")
    parser.add_argument("--timeout", type=float, default=600)
    args = parser.parse_args()
    if args.list:
        print(json.dumps({"001": romou(), "000": list(table3())}))
        return 0
    if args.count:
        print(json.dumps({"001": counts(romou()), "000": counts(list(table3()))}))
        return
    if args.draw:
        PAGE.write_text(with_networks(PAGE.read_text()))
        draw_categories(PAGE.read_text())
        return
    results = json.loads(args.results.read_text()) if args.results.exists() else {}
    for paper in args.paper or PAPERS:
        devices, operators = PAPERS[paper]
        measure(args, results, [device for device in devices if device in (args.device or devices)], operators())
        missing = [device for device in devices if not results.get(device)]
        if args.sample == 1 and missing and args.device:
            print(f"paper {paper}: nothing is written, since {', '.join(missing)} were not simulated", file=sys.stderr)
        elif args.sample == 1:
            write = {"001": write_romou, "000": write_table3}[paper]
            write(args, {device: results[device] for device in devices if device in results})


def measure(args, results, devices, operators):
    """Simulates what is not there yet."""
    for device in devices:
        own = results.setdefault(device, {})
        for number, one in enumerate(operators[:: args.sample]):
            if "time_s" not in own.get(one["op"], {}):
                own[one["op"]] = simulate(args, one, device)
                if args.sample == 1:
                    write_json(args.results, results)
            print(f"{device} {number}: {one['name']}: {own[one['op']]}", file=sys.stderr)


if __name__ == "__main__":
    main()
