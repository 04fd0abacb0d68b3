#!/usr/bin/env python3
"""Runs over an array in memory beside the same runs by files: time and bytes.

    bench/compare/python_memory.py HCUBE [FOLDER [INTERLEAVE [CHAIN...]]]

HCUBE: the program. FOLDER: 600 MB (default /dev/shm). INTERLEAVE: bil (default), bip or bsq. A scene of 1,000 lines x
750 samples x 200 bands of uint16 (300 MB) is generated. Rounds alternate, and each row has the lowest of seven wall
times, and the median of the ratios within a round. By files: the program reads the scene from FOLDER and writes its
result there, and the array is mapped. First run: no earlier run has left a memory file to copy the array into.
"""
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
LINES, SAMPLES, BANDS = 1000, 750, 200
CHAINS = ("mnf --components 10", "pca --components 10", "rx", "filter median3x3", "bands 1-100")
AXES = {"bil": (0, 2, 1), "bip": (0, 1, 2), "bsq": (2, 0, 1)}


def make():
    random = np.random.default_rng(1)
    spectra = random.random((8, BANDS), "f4").cumsum(axis=1) * 20
    shares = random.random((LINES, SAMPLES, 8), "f4")
    cube = shares @ spectra + random.normal(0, 10, (LINES, SAMPLES, BANDS)).astype("f4")
    return np.clip(cube, 1, 65535).astype("u2")


def timed(function):
    begin = time.perf_counter()
    found = function()
    return time.perf_counter() - begin, found


def main():
    os.environ["HCUBE_PROGRAM"] = str(Path(sys.argv[1]).resolve())
    import hcube

    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else "/dev/shm") as folder:
        os.chdir(folder)
        interleave = sys.argv[3] if len(sys.argv) > 3 else "bil"
        stored = np.ascontiguousarray(make().transpose(AXES[interleave]))
        stored.tofile("scene.img")
        Path("scene.hdr").write_text(f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = {BANDS}\ndata type = 12\n"
                                     f"interleave = {interleave}\nheader offset = 0\nbyte order = 0\n")
        array = stored.transpose(np.argsort(AXES[interleave]))
        shared = hcube.empty(array.shape, array.dtype, interleave)
        shared[:] = array
        print("| chain | by files | of `hcube.empty` | ratio | any array, first run | ratio | next runs | ratio | same bytes |\n"
              "|---|---|---|---|---|---|---|---|---|")
        for chain in sys.argv[4:] or CHAINS:
            files, same = [], True
            memory = {"shared": [], "first": [], "next": []}
            for _ in range(7):
                seconds, kept = timed(lambda: hcube.run(f"read scene.hdr ! {chain} ! write kept.img", overwrite=True))
                files.append(seconds)
                hcube.scene._drop_all()
                for name, times in memory.items():
                    seconds, found = timed(lambda: hcube.run(chain, scene=shared if name == "shared" else array))
                    times.append(seconds)
                    same = same and found.array().tobytes() == kept.array().tobytes()
            rows = "".join(f" {min(times):.2f} s | {np.median(np.divide(times, files)):.2f} |" for times in memory.values())
            print(f"| `{chain}` | {min(files):.2f} s |{rows} {'yes' if same else 'no'} |", flush=True)


if __name__ == "__main__":
    main()
