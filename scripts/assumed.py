#!/usr/bin/env python3
"""Rewrites the list `assumed` of silicon files from their comments: keys whose comment begins with "assumed", in order.

    scripts/assumed.py crates/sim/devices/*.toml
"""

import re
import sys
import textwrap


def assumed(text):
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line[1 : line.index("]")]
        elif "=" in line and "# assumed" in line.partition("=")[2]:
            yield f"{section}.{line.partition('=')[0].strip()}"


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    keys = ", ".join(f'"{key}"' for key in assumed(text))
    lines = textwrap.wrap(keys, 134, break_long_words=False, break_on_hyphens=False)
    listed = "".join(f"    {line}\n" for line in lines).rstrip(",\n")
    value = f"assumed = [\n{listed},\n]" if lines else "assumed = []"
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"^assumed = \[.*?\]$", value, text, count=1, flags=re.M | re.S))
