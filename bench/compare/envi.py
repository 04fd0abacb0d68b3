"""Reads and writes plain ENVI rasters as NumPy arrays [line][sample][band]."""
import re
from pathlib import Path

import numpy as np

TYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4"}


def read_envi(path):
    text = Path(path).with_suffix(".hdr").read_text()
    number = lambda name: int(re.search(rf"(?mi)^\s*{name}\s*=\s*(\d+)", text).group(1))
    lines, samples, bands = number("lines"), number("samples"), number("bands")
    interleave = re.search(r"(?mi)^\s*interleave\s*=\s*(\w+)", text).group(1).lower()
    values = np.fromfile(path, "<" + TYPES[number("data type")]).astype(float)
    if interleave == "bil":
        return values.reshape(lines, bands, samples).transpose(0, 2, 1)
    if interleave == "bsq":
        return values.reshape(bands, lines, samples).transpose(1, 2, 0)
    return values.reshape(lines, samples, bands)


def write_envi(path, cube):
    cube.astype("<f4").tofile(path)
    Path(path).with_suffix(".hdr").write_text(
        "ENVI\nlines = %d\nsamples = %d\nbands = %d\nheader offset = 0\ndata type = 4\ninterleave = bip\nbyte order = 0\n"
        % cube.shape)
