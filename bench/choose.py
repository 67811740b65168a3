"""Choices without measuring beside everything timed, on GPUs of this project and on silicon that nobody has seen. Makes bench/choose.md.

    cargo build --release && cargo build --release -p warpsight-sim --example perturbed && cargo build --release -p warpsight-engine --example choose
    python3 bench/choose.py [--sample] [--out bench/choose.md] [--hours 3] [--kept FOLDER] [--silicons N] [--build release|debug]

sim:adreno740, sim:adreno640 and sim:mali-g77 are chosen for by their profiles in profiles/, with 4 shapes of paper 000's grid and 2 near to it for
each operator; COUNT perturbed silicons of the committed seed (the example `perturbed` of `sim`) are probed first (`warpsight probe --quick`), and have one
shape each. Of each device the example `choose` times the spaces; its pages are put together, behind a table of all cases. A device that is not begun
within the hours, or that is not chosen for since its probe found too little, is named and left out; times are kept, so that the next run goes on. --sample: one shape of three operators, 60 configurations, two
devices, one of them perturbed. Every time is simulated.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, TARGET

SEED = 20261130
DEVICES = ["adreno740", "adreno640", "mali-g77"]
COUNT = 6
# For a probe at most, which takes one where nothing else runs.
MINUTES = 6
SHAPES = "4,2"
FULL = ["--configs", "3000", "--macs", "2e9"]
SAMPLE = ["--configs", "60", "--macs", "1e6", "--op", "MatMul", "--op", "DwConv2D", "--op", "SoftMax"]
PICKS = "## Picks that lose more than 5 %"
# What takes longer was given up by the example, and counts as that.
CAPPED = 4.0
HEAD = """# Choices without measuring, beside everything timed

Made by `bench/choose.py{sample}` in {seconds:.0f} s by the example `choose`. Every time is simulated, so accuracy is against our simulator. Each kernel's space is a part of all its
configurations, drawn; a loss is what the pick takes over the fastest of these. Shapes: the grid of paper 000's Table 3 and odd or prime ones near to it. Paper 000
has about 1 % loss in the mean, on its phone. What takes four times the best is given up, and counts as that. `random` is the mean of the space, `vanilla` the best group without tiles or patterns, `tile only` our pick of what
lies in images, `pattern only` of what has no tiles; `paper000, threads` and `, warps` are its model up to these levels (figure 10). `perturbed`: silicon of seed {seed}, probed by `warpsight probe --quick`.

Options: `{options}`
"""


class Failed(Exception):
    """A program that did not end well, and what it said."""


def run(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(str(part) for part in command)}: {done.stderr.strip() or done.stdout.strip()}")


def perturbed(options: argparse.Namespace, folder: Path, count: int) -> list[Path]:
    """Silicon files of the seed, the profile of each beside it."""
    run(TARGET / options.build / "examples/perturbed", SEED, count, folder)
    files = sorted(folder.glob(f"perturbed-{SEED}-*.toml"))
    for file in files:
        if not (folder / f"sim-{file.stem}.toml").exists():
            print(f"probing {file.stem}", flush=True)
            profile = folder / f"sim-{file.stem}.toml"
            run(TARGET / options.build / "warpsight", "probe", "--quick", "--minutes", MINUTES, "--seed", 1, "--device", f"sim:{file}", "--out", folder / file.stem, "--profile-out", profile)
    return files


def row(name: str, cases: list[dict], pick: str) -> str:
    """A line over cases that the picker has a choice for."""
    over = [case["picks"][pick]["over"] for case in cases]
    over = [min(own, CAPPED) for own in over if own is not None]
    few = [case["picks"][pick]["of_few"] for case in cases]
    few = [min(own, CAPPED) for own in few if own is not None]
    if not over:
        return ""
    mean = lambda all: 100 * (sum(all) / len(all) - 1)
    within = lambda part: 100 * sum(own <= 1 + part for own in over) / len(over)
    best = f"{mean(few):.2f}" if few else "–"
    return (
        f"| {name} | {pick} | {len(over)} | {mean(over):.2f} | {100 * (max(over) - 1):.1f} | {within(0.01):.1f} | {within(0.1):.1f} "
        f"| {within(0.001):.1f} | {best} |\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", action="store_true", help="a few minutes' worth")
    parser.add_argument("--out", type=Path, help="the page (default: printed)")
    parser.add_argument("--hours", type=float, default=3.0, help="no device is begun later (default: %(default)s)")
    parser.add_argument("--kept", type=Path, help="folder of perturbed silicon, its profiles, and times (default: a new one)")
    parser.add_argument("--silicons", type=int, metavar="N", help=f"perturbed ones (default: {COUNT}, of a sample 1)")
    parser.add_argument("--build", choices=["release", "debug"], default="release", help="whose programs are called (default: %(default)s)")
    options = parser.parse_args()
    begun = time.time()
    with tempfile.TemporaryDirectory() as folder:
        kept = options.kept or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        files = perturbed(options, kept, options.silicons or (1 if options.sample else COUNT))
        asked = [(device, ROOT / "profiles", "1,0" if options.sample else SHAPES) for device in (DEVICES[:1] if options.sample else DEVICES)]
        asked += [(file, kept, "1,0") for file in files]
        cases, pages, late, failures = [], [], [], []
        for device, profiles, shapes in asked:
            if time.time() - begun > 3600 * options.hours:
                late.append(str(device))
                continue
            print(f"choosing on {device}", flush=True)
            page, found = Path(folder) / "page.md", Path(folder) / "cases.json"
            more = SAMPLE if options.sample else FULL
            try:
                run(TARGET / options.build / "examples/choose", "--device", device, "--profiles", profiles, "--kept", kept, "--cases", shapes, *more,
                    "--out", page, "--json", found)
            except Failed as failed:
                print(f"left out: {failed}", file=sys.stderr, flush=True)
                failures.append(Path(device).stem)
                continue
            cases += json.loads(found.read_text())
            pages.append(page.read_text())
    new = {file.stem for file in files}
    groups = {"all": cases, "ours": [own for own in cases if own["device"] not in new], "perturbed": [own for own in cases if own["device"] in new]}
    options_of = " ".join(SAMPLE if options.sample else FULL)
    text = HEAD.format(sample=" --sample" if options.sample else "", seconds=time.time() - begun, seed=SEED, options=options_of)
    if late:
        text += f"\nNot begun in {options.hours:g} hours: {', '.join(late)}.\n"
    if failures:
        text += f"\nLeft out, since they could not be chosen for: {', '.join(failures)}.\n"
    text += "\n## All cases\n\n| devices | picks | cases | mean loss % | worst % | within 1 % | within 10 % | right (0.1 %) | best of 5: mean loss % |\n"
    text += "|---|---|---|---|---|---|---|---|---|\n"
    for name, own in groups.items():
        for pick in sorted(own[0]["picks"], key=lambda pick: pick != "warpsight") if own else ():
            text += row(name, own, pick)
    parts = [page[page.index("\n## sim:"):].split(PICKS) for page in pages]
    text += "".join(part[0].rstrip() + "\n" for part in parts)
    text += f"\n{PICKS}\n\n" + "".join(part[1].lstrip("\n") for part in parts)
    if options.out:
        options.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"error: {failed}")
