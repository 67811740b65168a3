#!/usr/bin/env python3
"""The tables and figures of paper 002, each made again: its authors' numbers, their model as published, and ours.

    cargo build --release -p warpsight && python3 bench/paper002.py --figure 12 [--json FILE] [--svg FOLDER] [--rows N]
    python3 bench/paper002.py --table 1
    python3 bench/paper002.py                         all of them

What each shows and what the paper states of it is in data/volumes/paper002.toml. Columns: `published` is what the text of the paper states; `theirs`
the outputs of its authors' implementation; `paper002` the same model by `warpsight predict --model paper002`; `ours` `warpsight predict`;
`measured` a recording of real hardware. Where a fit of ours used a recording, the table says so.
"""

import argparse
import json
import math
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import common

NUMBERS = common.ROOT / "data" / "volumes" / "paper002.toml"
ACCESSES = common.ROOT / "examples" / "accesses"
PREDICTED = "(predicted)"


class Paper:
    """The data file, the recordings and the command."""

    def __init__(self, args):
        self.known = tomllib.loads(NUMBERS.read_text())
        self.device = self.known["paper"]["device"]
        self.data = args.data.resolve() / "volumes"
        self.args = args

    def warpsight(self, *command):
        out, failed = common.call([self.args.warpsight, *command, "--json"], 600)
        if out is None:
            sys.exit(f"error: {' '.join(map(str, command))}: {failed}")
        return json.loads(out)

    def explored(self, kernel, *options, device=None):
        """Every configuration by our model, the fastest first; with it how many are refused."""
        found = self.warpsight("explore", ACCESSES / kernel["file"], "--device", device or self.device, "--top", 10_000, *options)
        return found["ranking"], found["refused"]

    def baselines(self, kernel, entries, settings=()):
        """The published model's answers for explored configurations, `None` where it has none."""

        def one(entry):
            command = ["predict", ACCESSES / kernel["file"], "--device", entry["device"], "--model", "paper002"]
            for setting in [*settings, *entry["set"]]:
                command += ["--set", setting]
            out, _ = common.call([self.args.warpsight, *command, "--json"], 600)
            return json.loads(out) if out else None

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(one, entries))

    def peer(self, kernel):
        """The authors' outputs by block; empty where they are not at hand."""
        file = self.data / "peer" / kernel["theirs"]
        if not file.exists():
            return {}
        return {tuple(config["block"]): config["derived"] for config in json.loads(file.read_text())["configs"]}

    def recorded(self, name):
        file = self.data / "measured" / name
        return json.loads(file.read_text()) if file.exists() else None

    def published(self, figure):
        return [number for number in self.known["number"] if number["figure"] == figure]


def of(entry, quantity):
    """A number of `predict --json`."""
    if entry is None:
        return None
    return entry["volumes"][quantity] if quantity in entry["volumes"] else entry[quantity]


def shown(value):
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.3e}"


def size(block):
    return "x".join(map(str, block))


def mean_off(pairs):
    offs = [abs(own / other - 1) for own, other in pairs if own is not None and other]
    return None if not offs else sum(offs) / len(offs)


def print_rows(head, rows, most):
    common.print_table(head, [[shown(cell) for cell in row] for row in rows[:most]])
    if len(rows) > most:
        print(f"… of {len(rows)} rows; all with --rows {len(rows)} or --json")


def stated(paper, figure, ours):
    """What the paper states, beside ours."""
    rows = []
    for number in paper.published(figure):
        own = ours.get((number["of"], number["on"]), ours.get(number["of"]))
        rows.append({**number, "ours": own})
    if rows:
        common.print_table(
            ["what", "on", "published", "ours " + PREDICTED, "unit", "where"],
            [[row["of"], row["on"], shown(row["value"]), shown(row["ours"]), row["unit"], row["cite"]] for row in rows],
        )
    return rows


# --- the forms of tables ---------------------------------------------------------------------------------------------------------------


def configurations(paper, figure):
    """A quantity for every block of so many threads and every folding."""
    rows, answers = [], {}
    for name in figure["kernels"]:
        kernel = paper.known["kernel"][name]
        entries, _ = paper.explored(kernel, "--block-sizes", kernel["threads"], "--fold", ",".join(kernel["fold"]))
        theirs, scale = paper.peer(kernel), figure.get("times", 1)
        for entry, baseline in zip(entries, paper.baselines(kernel, entries)):
            # Nothing of the authors' outputs is folded.
            peer = theirs.get(tuple(entry["block"])) if entry["fold"] == [1, 1, 1] else None
            row = {
                "kernel": name,
                "block": size(entry["block"]),
                "fold": size(entry["fold"]),
                "set": entry["set"],
                "theirs": None if peer is None else peer[figure["theirs"]] * scale,
                "paper002": of(baseline, figure["quantity"]),
                "ours": of(entry, figure["quantity"]),
                "limiter": entry["limiter"],
                "paper002_limiter": baseline and baseline["limiter"],
                "interval_s": entry["interval"]["seconds"],
            }
            rows.append(row)
        own = [row for row in rows if row["kernel"] == name]
        if name == "star":
            answers.update(even_from(own, figure))
            answers["flops_per_point"] = entries[0]["effective"]["flops_per_second"] / entries[0]["points_per_second"]
    falling = figure["quantity"] == "points_per_second"
    rows.sort(key=lambda row: (row["kernel"] != "star", -row["ours"] if falling else row["ours"]))
    for name in figure["kernels"]:
        own = [row for row in rows if row["kernel"] == name]
        head = [f"{name}: block", "fold", "theirs " + PREDICTED, "paper002 " + PREDICTED, "ours " + PREDICTED, "limiter, paper002", "limiter, ours"]
        keys = ["block", "fold", "theirs", "paper002", "ours", "paper002_limiter", "limiter"]
        print_rows(head, [[row[key] for key in keys] for row in own], paper.args.rows)
        both = [(row["ours"], row["paper002"]) for row in own]
        print(f"{name}: {len(own)} configurations, ours {shown(100 * mean_off(both))} % beside the published model in the mean ({figure['unit']})")
        if falling:
            order = sorted(own, key=lambda row: -row["paper002"])
            print(f"{name}: the published model's fastest ({order[0]['block']} fold {order[0]['fold']}) is no. {own.index(order[0]) + 1} of ours")
    return rows, stated(paper, figure["name"], answers)


def even_from(rows, figure):
    """The least width from which on no width takes more cycles than the widest, blocks unfolded."""
    if figure["quantity"] != "l1_cycles_per_point":
        return {}
    widths = {}
    for row in rows:
        if row["fold"] == "1x1x1":
            width = int(row["block"].split("x")[0])
            widths[width] = max(widths.get(width, 0), row["ours"])
    even = max(widths)
    for width in sorted(widths, reverse=True):
        if widths[width] > 1.01 * widths[max(widths)]:
            break
        even = width
    return {"even_from": even}


SELECTED = ["1024x1x1", "512x1x1", "64x16x1", "64x8x1", "32x32x1", "32x16x1", "16x8x8", "8x8x8", "16x2x32", "4x4x64", "4x2x64", "2x16x32", "2x8x32", "1x16x64", "1x16x32"]


def causes(paper, figure):
    """Volumes by cause for some blocks."""
    rows = []
    for name in figure["kernels"]:
        kernel = paper.known["kernel"][name]
        entries, _ = paper.explored(kernel, "--block-sizes", kernel["threads"], "--fold", "1")
        entries = [entry for entry in entries if size(entry["block"]) in SELECTED]
        for entry, baseline in zip(entries, paper.baselines(kernel, entries)):
            for which, answer in [("paper002", baseline), ("ours", entry)]:
                parts = {cause: each for cause, each in answer["volumes"]["by_cause"].items() if cause.startswith(figure["cause"] + ":")}
                sum_ = answer["volumes"][figure["cause"]]
                rows.append({"kernel": name, "block": size(entry["block"]), "set": entry["set"], "model": which, "sum": sum_, "by_cause": parts})
    for row in rows:
        parts = ", ".join(f"{cause.split(': ')[1]} {shown(each)}" for cause, each in row["by_cause"].items() if each > 5e-4)
        row["text"] = parts
    head = ["kernel", "block", f"model {PREDICTED}", figure["unit"], "of that"]
    common.print_table(head, [[row["kernel"], row["block"], row["model"], shown(row["sum"]), row["text"]] for row in rows])
    for row in rows:
        del row["text"]
    return rows, stated(paper, figure["name"], {})


def widths(paper, figure):
    """What partial stores read back, the most of all blocks of a width."""
    rows = []
    for name in figure["kernels"]:
        kernel = paper.known["kernel"][name]
        entries, _ = paper.explored(kernel, "--block-sizes", kernel["threads"], "--fold", "1")
        found = {}
        for entry, baseline in zip(entries, paper.baselines(kernel, entries)):
            back = [answer["volumes"]["by_cause"].get(figure["cause"], 0) for answer in (baseline, entry)]
            width = entry["block"][0]
            found[width] = [max(pair) for pair in zip(found.get(width, [0, 0]), back)]
        rows += [{"kernel": name, "width": width, "paper002": found[width][0], "ours": found[width][1]} for width in sorted(found)]
    head = ["kernel", "width", f"paper002 {PREDICTED}, {figure['unit']}", f"ours {PREDICTED}, {figure['unit']}"]
    common.print_table(head, [[row["kernel"], row["width"], shown(row["paper002"]), shown(row["ours"])] for row in rows])
    partial = max((row["width"] for row in rows if row["kernel"] == "star" and row["ours"] > 0), default=0)
    return rows, stated(paper, figure["name"], {"partial_up_to": partial})


def planes(paper, figure):
    """A quantity over a swept parameter, for several blocks."""
    kernel = paper.known["kernel"][figure["kernels"][0]]
    sweep = figure["sweep"].split("=")[0].split(",")[0]
    settings = figure.get("set", [])
    rows = []
    for device in figure.get("devices", [paper.device]):
        options = ["--block-sizes", ",".join(figure["blocks"]), f"--sweep={figure['sweep']}"]
        for setting in settings:
            options += ["--set", setting]
        entries, refused = paper.explored(kernel, *options, device=device)
        for reason in refused["reasons"]:
            print(f"{reason['configurations']} refused by ours: {reason['reason']}")
        for entry, baseline in zip(entries, paper.baselines(kernel, entries, settings)):
            row = {"device": device, "block": size(entry["block"]), sweep: entry["params"][sweep], "set": [*settings, *entry["set"]]}
            rows.append({**row, "paper002": of(baseline, figure["quantity"]), "ours": of(entry, figure["quantity"])})
    rows.sort(key=lambda row: (row["device"], figure["blocks"].index(row["block"]), row[sweep]))
    head = ["device", "block", sweep, f"paper002 {PREDICTED}, {figure['unit']}", f"ours {PREDICTED}, {figure['unit']}"]
    print_rows(head, [[row["device"], row["block"], row[sweep], row["paper002"], row["ours"]] for row in rows], max(paper.args.rows, 400))
    answers = {}
    if figure["quantity"] == "points_per_second":
        for which in ["paper002", "ours"]:
            best, last = max(rows, key=lambda row: row[which] or 0), rows[-1]
            print(f"{which}: best at {best[sweep]}, {shown(100 * (1 - last[which] / best[which]))} % less at {last[sweep]}")
    if figure["quantity"] == "dram_load":
        for which in ["paper002", "ours"]:
            for block in figure["blocks"]:
                own = [row for row in rows if row["block"] == block]
                rises = next((row[sweep] for row in own if row[which] > 1.1 * own[0][which]), None)
                print(f"{block}: {which} rises above {1.1 * own[0][which]:.1f} {figure['unit']} from {rises or '-'} on")
                if which == "ours" and block == figure["blocks"][0]:
                    answers["rises_from"] = rises
    return rows, stated(paper, figure["name"], answers)


def devices(paper, figure):
    """Numbers of profiles, of the authors' implementation, and measured ones."""
    theirs = tomllib.loads((common.ROOT / "crates" / "predict" / "src" / "paper002" / "devices.toml").read_text())
    summary = paper.recorded("gpu_benches_summary.json") or {}
    keys = {
        "cores": ("cores", ["execution", "cores"], 1),
        "clock": ("clock", ["execution", "clock"], 1e9),
        "l1": ("l1", ["memory", "buffer_l1", "bytes"], 1024),
        "l2": ("l2", ["memory", "l2_effective"], 2**20),
        "memory_bandwidth": ("memory_bandwidth", ["memory", "dram_bandwidth"], 1e9),
        "l2_bandwidth": ("l2_bandwidth", ["memory", "l2", "bandwidth"], 1e9),
    }
    rows, answers = [], {}
    for device in ["v100", "a100-40"]:
        profile = paper.warpsight("devices", "--profile", device)
        streams = summary.get(device.replace("-", "_"), {}).get("stream_GBs_max_occ", {})
        scale = next((run["scale"] for name, run in streams.items() if name.startswith("gb:")), None)
        for quantity, (name, path, unit) in keys.items():
            fact = profile
            for key in path:
                fact = fact[key]
            value = fact["value"] if isinstance(fact, dict) else fact
            ours = None if value is None else value / unit
            published = next((n for n in paper.published(figure["name"]) if n["of"] == quantity and n["on"] == device), None)
            answers[(quantity, device)] = ours
            rows.append({
                "on": device,
                "of": quantity,
                "published": published and published["value"],
                "theirs": theirs[device][name],
                "measured": scale if quantity == "memory_bandwidth" else None,
                "ours": ours,
                "unit": published and published["unit"],
            })
    common.print_table(
        ["device", "what", "published", "theirs", "measured (scale)", "our profile", "unit"],
        [[shown(row[key]) for key in ["on", "of", "published", "theirs", "measured", "ours", "unit"]] for row in rows],
    )
    return rows, []


LOADS = [("consecutive", 1), ("every second", 2), ("one bank", 16)]


def loads(paper, figure):
    """Cycles of a warp's load of f64 by its stride."""
    recorded = (paper.recorded("gpu_strides.json") or {"rows": []})["rows"]
    rows, answers = [], {}
    for name, stride in LOADS:
        entry = paper.warpsight("predict", ACCESSES / "strided-load.toml", "--device", paper.device, "--set", f"stride={stride}")
        baseline = paper.warpsight("predict", ACCESSES / "strided-load.toml", "--device", paper.device, "--model", "paper002", "--set", f"stride={stride}")
        measured = [row for row in recorded if row["device"] == "a100" and row["datatype"] == 8 and row["mode"] == "stride" and row["arg"] == stride]
        row = {
            "load": name,
            "stride": stride,
            "set": [f"stride={stride}"],
            "measured": measured[0]["cycles_per_warp32"] if measured else None,
            "published": next(n["value"] for n in paper.published(figure["name"]) if n["of"] == name),
            "paper002": 32 * of(baseline, "l1_cycles_per_point"),
            "ours": 32 * of(entry, "l1_cycles_per_point"),
        }
        rows.append(row)
        answers[name] = row["ours"]
    keys = ["load", "stride", "measured", "published", "paper002", "ours"]
    common.print_table(["load", "stride", "measured", "published", f"paper002 {PREDICTED}", f"ours {PREDICTED}"], [[shown(row[key]) for key in keys] for row in rows])
    print("cycles a warp; the fit of tags used the measured rows of even strides (data/fits/l1-nvidia.toml), which are not scored.")
    print("paper002 adds the cycles that fill the lines of each load, which loads repeated in the first level do not have")
    return rows, stated(paper, figure["name"], answers)


MIB = [2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 64, 96, 128]


def rates(paper, figure):
    """Bandwidths of the second level over sizes, and of memory over resident threads."""
    rows = []
    sweep = {"file": "sweep-l2.toml"}
    recorded = (paper.recorded("gpu_l2_cache.json") or {"data": {}})["data"]
    reliable = None
    for device, recording in [("v100", None), ("a100-40", None), ("a100-80", "gb:a100_80")]:
        entries, _ = paper.explored(sweep, f"--sweep=run={','.join(str(2 * mib) for mib in MIB)}", device=device)
        for entry in sorted(entries, key=lambda entry: entry["params"]["run"]):
            kib = 512 * entry["params"]["run"]
            measured = [row["GBs"] for row in recorded.get(recording, []) if row["total_kB"] == kib]
            ours = entry["effective"]["bytes_per_second"] / 1e9
            rows.append({"part": "second level", "device": device, "MiB": kib / 1024, "set": entry["set"], "measured": measured[0] if measured else None, "paper002": None, "ours": ours})
        own = [row for row in rows if row["device"] == device]
        falls = next((row["MiB"] for row in own if row["ours"] < 0.95 * own[0]["ours"]), None)
        print(f"{device}: ours falls below 95 % of its first from {falls} MiB on")
        if device == paper.device:
            reliable = falls
    common.print_table(
        ["device", "MiB", "measured, GB/s", "paper002", f"ours {PREDICTED}, GB/s"],
        [[row["device"], shown(row["MiB"]), shown(row["measured"]), shown(row["paper002"]), shown(row["ours"])] for row in rows],
    )
    print("paper002 cannot say: it has no loops over blocks launched in another order. The curve of caches used recorded sweeps (bench/truth.py leaves each device out).\n")
    memory = []
    streams = (paper.recorded("gpu_stream.json") or {"data": {}})["data"]
    kernel, settings = {"file": "stream-scale.toml"}, ["n=134217728"]
    options = ["--block-sizes", "32,64,128,192,256,384,512,640,768,896,1024", "--set", *settings, "--override", "max_groups=2", "--override", "max_barriers=2"]
    for device in ["v100", "a100-40"]:
        table = streams.get("gb:" + device.replace("-", "_"), {"rows": []})["rows"]
        entries, _ = paper.explored(kernel, *options, device=device)
        entries.sort(key=lambda entry: entry["block"])
        for entry, baseline in zip(entries, paper.baselines(kernel, entries, settings)):
            threads = entry["block"][0]
            measured = [row["scale"] for row in table if row["left"][0] == threads]
            memory.append({
                "part": "memory",
                "device": device,
                "threads_per_core": 2 * threads,
                "set": [*settings, *entry["set"]],
                "measured": measured[0] if measured else None,
                "paper002": baseline and 16 * baseline["points_per_second"] / 1e9,
                "ours": 16 * entry["points_per_second"] / 1e9,
            })
    common.print_table(
        ["device", "threads a core", "measured, GB/s", f"paper002 {PREDICTED}", f"ours {PREDICTED}"],
        [[row["device"], row["threads_per_core"], shown(row["measured"]), shown(row["paper002"]), shown(row["ours"])] for row in memory],
    )
    print("ours is fitted to the measured rows (data/fits/bandwidth.toml): they are shown, not scored; cargo test --test speed scores kernels and devices left out")
    return rows + memory, stated(paper, figure["name"], {"reliable": reliable})


def curves(paper, figure):
    """The share of what is read again that hits, over what must be kept meanwhile."""
    known = paper.known["curve"]
    own, later, l2 = known[figure["curve"]], known["later"], known["l2_mib"]
    runs = {part: round(2 * part * l2) for part in [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3]}
    entries, _ = paper.explored({"file": "sweep-l2.toml"}, f"--sweep=run={','.join(map(str, runs.values()))}")
    rows = []
    for part, run in runs.items():
        entry = next(entry for entry in entries if entry["params"]["run"] == run)
        volumes = entry["volumes"]
        first = volumes["by_cause"]["dram_load: compulsory"]
        rows.append({
            "part": part,
            "set": entry["set"],
            "published": math.exp(-own["a"] * math.exp(own["b"] * (part - own["c"]))),
            "paper002": 1 - math.exp(-later["a"] * math.exp(-later["b"] * part)),
            "ours": 1 - (volumes["dram_load"] - first) / (volumes["l2_load"] - first),
        })
    common.print_table(
        [f"parts of {l2} MiB", "published fit", f"paper002 {PREDICTED}", f"ours {PREDICTED}"],
        [[shown(row["part"]), *(f"{row[key]:.3f}" for key in ("published", "paper002", "ours"))] for row in rows],
    )
    print("ours: a sweep that reads again what lies so far back (examples/accesses/sweep-l2.toml)")
    below = max((row["part"] for row in rows if row["ours"] > 0.9), default=None)
    above = min((row["part"] for row in rows if row["ours"] < 0.1), default=None)
    return rows, stated(paper, figure["name"], {"share_kept_below": below, "share_lost_above": above})


FORMS = {form.__name__: form for form in (configurations, causes, widths, planes, devices, loads, rates, curves)}


def draw(paper, figure, folder):
    """The figure by `warpsight explore`, where that has one like it."""
    if "plot" not in figure:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in figure.get("kernels", ["sweep"]):
        to = folder / f"{figure['name'].replace(' ', '-')}-{name}.svg"
        kernel = paper.known["kernel"].get(name, {"file": "sweep-l2.toml"})
        command = ["explore", ACCESSES / kernel["file"], "--device", figure.get("devices", [paper.device])[0]]
        if figure["plot"] == "sweep":
            command += [f"--sweep={figure.get('sweep', 'run=4..256:4')}", "--plot", to]
            command += ["--block-sizes", ",".join(figure["blocks"])] if "blocks" in figure else []
            for setting in figure.get("set", []):
                command += ["--set", setting]
        else:
            command += ["--block-sizes", kernel["threads"], "--fold", ",".join(kernel["fold"])]
            command += ["--top", 20, "--breakdown" if figure["plot"] == "breakdown" else "--plot", to]
        paper.warpsight(*command)
        print(to)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="append", default=[], metavar="N", help="a table, by its number")
    parser.add_argument("--figure", action="append", default=[], metavar="N|miniFE", help="a figure, by its number; may be repeated")
    parser.add_argument("--data", type=Path, default=common.ROOT / ".." / "shared" / "data", help="outputs and recordings (default: %(default)s)")
    parser.add_argument("--warpsight", type=Path, default=common.TARGET / "release" / "warpsight", help="the command (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=16, metavar="N", help="how many configurations are printed (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows as JSON too")
    parser.add_argument("--svg", type=Path, metavar="FOLDER", help="draw those that `warpsight explore` draws")
    args = parser.parse_args()
    paper = Paper(args)
    wanted = [f"table {n}" for n in args.table] + [n if n == "miniFE" else f"figure {n}" for n in args.figure]
    figures = {figure["name"]: figure for figure in paper.known["figure"]}
    unknown = [name for name in wanted if name not in figures]
    if unknown:
        sys.exit(f"error: no {unknown[0]}; there are {', '.join(figures)}")
    found = []
    for name in wanted or figures:
        figure = figures[name]
        print(f"{name}: {figure['shows']}")
        rows, numbers = FORMS[figure["table"]](paper, figure)
        found.append({"figure": name, "shows": figure["shows"], "rows": rows, "published": numbers})
        if args.svg:
            draw(paper, figure, args.svg)
        print()
    common.write_json(args.json, found)


if __name__ == "__main__":
    main()
