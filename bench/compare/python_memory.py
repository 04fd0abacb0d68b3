#!/usr/bin/env python3
"""Runs over an array in memory beside the same runs by files: time and bytes.

    bench/compare/python_memory.py HCUBE [FOLDER]

HCUBE: the program. FOLDER: 600 MB (default /dev/shm). A scene of 1,000 lines x 750 samples x 200 bands of uint16, BIL
(300 MB), is generated. Rounds alternate, and each row has the lowest of seven wall times. By files: the program reads the scene from
FOLDER and writes its result there, and the array is mapped.
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


def make():
    random = np.random.default_rng(1)
    spectra = random.random((8, BANDS), "f4").cumsum(axis=1) * 20
    shares = random.random((LINES, SAMPLES, 8), "f4")
    cube = shares @ spectra + random.normal(0, 10, (LINES, SAMPLES, BANDS)).astype("f4")
    return np.ascontiguousarray(np.clip(cube, 1, 65535).astype("u2").transpose(0, 2, 1))


def timed(function):
    begin = time.perf_counter()
    found = function()
    return time.perf_counter() - begin, found


def main():
    os.environ["HCUBE_PROGRAM"] = str(Path(sys.argv[1]).resolve())
    import hcube

    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else "/dev/shm") as folder:
        os.chdir(folder)
        stored = make()
        stored.tofile("scene.img")
        Path("scene.hdr").write_text(f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = {BANDS}\ndata type = 12\n"
                                     "interleave = bil\nheader offset = 0\nbyte order = 0\n")
        array = stored.transpose(0, 2, 1)
        shared = hcube.empty(array.shape, array.dtype)
        shared[:] = array
        print("| chain | by files | of `hcube.empty` | ratio | any array | ratio | same bytes |\n|---|---|---|---|---|---|---|")
        for chain in CHAINS:
            files, memory, copied, same = [], [], [], True
            for _ in range(7):
                seconds, kept = timed(lambda: hcube.run(f"read scene.hdr ! {chain} ! write kept.img", overwrite=True))
                files.append(seconds)
                for times, scene in ((memory, shared), (copied, array)):
                    seconds, found = timed(lambda: hcube.run(chain, scene=scene))
                    times.append(seconds)
                    same = same and found.array().tobytes() == kept.array().tobytes()
            base = min(files)
            print(f"| `{chain}` | {base:.2f} s | {min(memory):.2f} s | {min(memory) / base:.2f} |"
                  f" {min(copied):.2f} s | {min(copied) / base:.2f} | {'yes' if same else 'no'} |")


if __name__ == "__main__":
    main()
