#!/usr/bin/env python3
"""What NVIDIA's compiler makes of a sample of the configurations of examples/accesses/clblast-gemm.toml: registers, spilled bytes, and instructions of
the machine code by kind and width (static counts). Writes data/codegen/gemm-nvidia.json, which crates/predict/tests/tuning.rs holds the estimate of
registers to. The kernel's text is this file's own, written from the description of the table.

    .venv/bin/python scripts/gemm-codegen.py [--rows N]

NVRTC and ptxas of the Python packages nvidia-cuda-nvrtc and nvidia-cuda-nvcc: not the OpenCL compiler of the recordings.
"""

import argparse
import ctypes
import itertools
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = next((Path(place) / "nvidia" / "cu13" for place in sys.path if (Path(place) / "nvidia" / "cu13").is_dir()), None)
KNOBS = ["MWG", "NWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "VWM", "VWN", "SA", "SB"]
TARGETS = ["sm_75", "sm_86"]
SEED = 20261126

TEXT = r"""
template <int N> struct __align__(4 * N) Vector { float s[N]; };
typedef Vector<VWM> M;
typedef Vector<VWN> N;
#define MWI (MWG / MDIMC)
#define NWI (NWG / NDIMC)
#define ALL (MDIMC * NDIMC)
#define EACH _Pragma("unroll") for
extern "C" __global__ void __launch_bounds__(ALL) gemm(int m, int n, int k, const M* __restrict__ a, const N* __restrict__ b, M* c) {
    int lane = threadIdx.x, x = lane % MDIMC, y = lane / MDIMC;
#if SA
    __shared__ M localA[KWG * MWG / VWM];
#endif
#if SB
    __shared__ N localB[KWG * NWG / VWN];
#endif
    a += blockIdx.x * (MWG / VWM), b += blockIdx.y * (NWG / VWN);
    float sum[NWI][MWI] = {};
    for (int step = 0; step < k; step += KWG) {
#if SA
        EACH (int i = 0; i < KWG * MDIMA / ALL; i++) EACH (int j = 0; j < MWG / MDIMA / VWM; j++) {
            int row = lane / MDIMA * (KWG * MDIMA / ALL) + i, at = lane % MDIMA * (MWG / MDIMA / VWM) + j;
            localA[row * (MWG / VWM) + at] = a[(step + row) * (m / VWM) + at];
        }
#endif
#if SB
        EACH (int i = 0; i < KWG * NDIMB / ALL; i++) EACH (int j = 0; j < NWG / NDIMB / VWN; j++) {
            int row = lane / NDIMB * (KWG * NDIMB / ALL) + i, at = lane % NDIMB * (NWG / NDIMB / VWN) + j;
            localB[row * (NWG / VWN) + at] = b[(step + row) * (n / VWN) + at];
        }
#endif
#if SA || SB
        __syncthreads();
#endif
        _Pragma("unroll 1") for (int at = 0; at < KWG; at += KWI) EACH (int u = 0; u < KWI; u++) {
            M fragmentA[MWI / VWM];
            N fragmentB[NWI / VWN];
            EACH (int i = 0; i < MWI / VWM; i++)
                fragmentA[i] = SA ? LOCALA[(at + u) * (MWG / VWM) + x * (MWI / VWM) + i] : a[(step + at + u) * (m / VWM) + x * (MWI / VWM) + i];
            EACH (int i = 0; i < NWI / VWN; i++)
                fragmentB[i] = SB ? LOCALB[(at + u) * (NWG / VWN) + y * (NWI / VWN) + i] : b[(step + at + u) * (n / VWN) + y * (NWI / VWN) + i];
            EACH (int i = 0; i < NWI; i++) EACH (int j = 0; j < MWI; j++)
                sum[i][j] = fmaf(fragmentA[j / VWM].s[j % VWM], fragmentB[i / VWN].s[i % VWN], sum[i][j]);
        }
#if SA || SB
        __syncthreads();
#endif
    }
    EACH (int i = 0; i < NWI; i++) EACH (int j = 0; j < MWI / VWM; j++) {
        M* to = c + (blockIdx.y * NWG + y * NWI + i) * (m / VWM) + blockIdx.x * (MWG / VWM) + x * (MWI / VWM) + j;
        M old = *to;
        EACH (int e = 0; e < VWM; e++) old.s[e] += sum[i][j * VWM + e];
        *to = old;
    }
}
"""

# Instructions of compute capability 7.5 and 8.6 by the low twelve bits of their 128.
CODES = {0x984: "LDS", 0x388: "STS", 0x988: "STS", 0x381: "LDG", 0x981: "LDG", 0x386: "STG", 0x986: "STG", 0x983: "LDL", 0x387: "STL", 0x987: "STL", 0x223: "FFMA", 0xB1D: "BAR"}
WIDE = {"LDS", "STS", "LDG", "STG", "LDL", "STL"}


def ptx(library, knobs, target):
    text = TEXT.replace("LOCALA", "localA" if knobs["SA"] else "a").replace("LOCALB", "localB" if knobs["SB"] else "b")
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"gemm.cu", 0, None, None)
    options = [f"-D{name}={value}".encode() for name, value in knobs.items()] + [f"--gpu-architecture={target.replace('sm', 'compute')}".encode()]
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if failed:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    found = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(program, found)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return found.value


def machine(binary):
    """Counts of the instructions of the only kernel."""
    sections, (size, count, names) = struct.unpack_from("<Q", binary, 40)[0], struct.unpack_from("<HHH", binary, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", binary, sections + i * size) for i in range(count)]
    name = lambda head: binary[heads[names][4] + head[0] :].split(b"\0", 1)[0]
    code = next(binary[head[4] : head[4] + head[5]] for head in heads if name(head).startswith(b".text"))
    counts = Counter()
    for low, high in struct.iter_unpack("<QQ", code):
        kind = CODES.get(low & 0xFFF)
        bits = {4: 32, 5: 64, 6: 128}.get(high >> 9 & 7, 0) if kind in WIDE else ""
        if kind:
            counts[f"{kind}{bits}"] += 1
    return dict(sorted(counts.items()))


def compiled(library, knobs, target):
    with tempfile.TemporaryDirectory() as folder:
        source, out = f"{folder}/a.ptx", f"{folder}/a.cubin"
        Path(source).write_bytes(ptx(library, knobs, target))
        done = subprocess.run([FOLDER / "bin" / "ptxas", "-v", "-arch", target, source, "-o", out], capture_output=True, text=True, check=True)
        number = lambda pattern: int(re.search(pattern, done.stderr)[1])
        found = {"registers": number(r"Used (\d+) registers"), "spill_stores": number(r"(\d+) bytes spill stores"), "spill_loads": number(r"(\d+) bytes spill loads")}
        return {**found, "instructions": machine(Path(out).read_bytes())}


def legal(c):
    threads = c["MDIMC"] * c["NDIMC"]
    tiles = c["MWG"] % (c["MDIMC"] * c["VWM"]) == 0 and c["MWG"] % (c["MDIMA"] * c["VWM"]) == 0
    tiles = tiles and c["NWG"] % (c["NDIMC"] * c["VWN"]) == 0 and c["NWG"] % (c["NDIMB"] * c["VWN"]) == 0
    rows = lambda row: threads % row == 0 and 32 % (threads // row) == 0
    return tiles and rows(c["MDIMA"]) and rows(c["NDIMB"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=48, help="configurations of the sample (default: %(default)s)")
    rows = parser.parse_args().rows
    if FOLDER is None:
        sys.exit("error: no package nvidia-cuda-nvrtc")
    library = ctypes.CDLL(str(FOLDER / "lib" / "libnvrtc.so.13"))
    extents = [[16, 32, 64, 128]] * 2 + [[8, 16, 32]] * 4 + [[1, 2, 4, 8]] * 2 + [[0, 1]] * 2
    every = [c for c in (dict(zip(KNOBS, values)) for values in itertools.product(*extents)) if legal(c)]
    # As many of each tile of a thread, of which most are small.
    of = {}
    for c in every:
        of.setdefault((c["MWG"] // c["MDIMC"], c["NWG"] // c["NDIMC"]), []).append(c)
    draw = random.Random(SEED)
    tiles = sorted(of)
    sample = [draw.choice(of[tiles[i % len(tiles)]]) for i in range(rows)]
    found = []
    for c in sample:
        for target in TARGETS:
            found.append({**c, "target": target, **compiled(library, {**c, "KWG": 32, "KWI": 2}, target)})
    out = os.path.join(ROOT, "data", "codegen", "gemm-nvidia.json")
    with open(out, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in found) + "\n]\n")


main()
