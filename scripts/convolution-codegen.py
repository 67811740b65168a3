#!/usr/bin/env python3
"""What a compiler makes of the 15 x 15 convolution of examples/accesses/conv-image-15.toml on MI250X, for every block height and
tile that divides the image: registers, spills, loads by width; blocks are 64 wide, whose width changes offsets only. Writes
data/codegen/convolution-mi250x.json, the covariate of crates/predict/tests/convolution.rs.

    CLANG=clang-15 scripts/convolution-codegen.py

Clang 15 with its AMDGPU back end, for gfx90a, with HIP's default of up to 1024 threads a block, which leaves 128 registers. That is not
the compiler of the recordings (ROCm's, of an unknown version), but near it.
"""

import itertools
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLANG = os.environ.get("CLANG", "clang-15")

# Every loop is written out.
BODY = """
    float sum[TY][TX];
    _Pragma("unroll") for (int n = 0; n < TY; n++)
        _Pragma("unroll") for (int m = 0; m < TX; m++) sum[n][m] = 0.0f;
    _Pragma("unroll") for (int j = 0; j < 15; j++)
        _Pragma("unroll") for (int i = 0; i < 15; i++)
            _Pragma("unroll") for (int n = 0; n < TY; n++)
                _Pragma("unroll") for (int m = 0; m < TX; m++)
                    sum[n][m] += in[(y + n * BY + j) * (4096 + 14) + x + m * BX + i] * taps[j * 15 + i];
    _Pragma("unroll") for (int n = 0; n < TY; n++)
        _Pragma("unroll") for (int m = 0; m < TX; m++) out[(y + n * BY) * 4096 + x + m * BX] = sum[n][m];
}
"""
OPENCL = """
extern __constant float taps[225];
__kernel __attribute__((amdgpu_flat_work_group_size(1, 1024))) void convolution(__global float* out, __global float* in) {
    int x = __builtin_amdgcn_workgroup_id_x() * BX * TX + __builtin_amdgcn_workitem_id_x();
    int y = __builtin_amdgcn_workgroup_id_y() * BY * TY + __builtin_amdgcn_workitem_id_y();
"""


def defines(row):
    return [f"-D{name}={value}" for name, value in zip(("BX", "BY", "TX", "TY"), row)]


def amd(row, folder):
    source, listing = os.path.join(folder, "c.cl"), os.path.join(folder, "c.s")
    with open(source, "w") as file:
        file.write(OPENCL + BODY)
    flags = "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -x cl -cl-std=CL2.0 -nogpulib -O3 -ffp-contract=fast -w -S".split()
    subprocess.run([CLANG, *flags, *defines(row), source, "-o", listing], check=True)
    with open(listing) as file:
        text = file.read()
    count = lambda name: len(re.findall(rf"^\s+{name}\s", text, re.M))
    return {
        "registers": int(re.search(r"\.vgpr_count:\s+(\d+)", text)[1]),
        "spill_stores": count("buffer_store_dword"),
        "spill_loads": count("buffer_load_dword"),
        "loads": count("global_load_dword"),
        "wide_loads": sum(count(f"global_load_dwordx{n}") for n in (2, 3, 4)),
        # Too long to be written out: a loop over rows of taps is left.
        "looped": bool(re.search(r"^\s+s_cbranch_\w+", text, re.M)),
    }


def main():
    shapes = itertools.product([1, 2, 4, 8, 16], [1, 2, 4], [1, 2, 4])
    with tempfile.TemporaryDirectory() as folder:
        found = [{"block_y": by, "tile": [tx, ty], **amd((64, by, tx, ty), folder)} for by, tx, ty in shapes]
    with open(f"{ROOT}/data/codegen/convolution-mi250x.json", "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]\n")


main()
