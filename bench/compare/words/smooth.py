"""smooth beside scipy.signal.savgol_filter and plain NumPy: one row a comparison.

    python3 bench/compare/words/smooth.py HCUBE DATA FOLDER

HCUBE is the program, DATA the folder of the real scenes (jasper-ridge/, samson/), FOLDER an empty one for outputs. Rows are: word,
reference, its version, scene, the largest difference over the largest value. SciPy knows even spacing alone, so that bands get
wavelengths by their numbers, 10 nm apart; bands that a scene lacks are gaps, and each run is filtered by itself.
"""
import subprocess, sys
from pathlib import Path

import numpy as np
import scipy
from scipy.signal import savgol_filter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from envi import read_envi, write_envi

SCENES = {"Jasper Ridge": "jasper-ridge/jasper_r198.img", "Samson": "samson/samson.img"}
FILTERS = [(11, 2, 0), (7, 3, 1), (9, 4, 2), (15, 0, 0)]
STEP = 10


def emit_like(lines=20, samples=40, bands=285):
    """Smooth spectra with noise, in the shape of an EMIT granule but for its size."""
    random = np.random.default_rng(47)
    x = np.arange(bands)
    parts = np.exp(-(((x[None, :] - random.uniform(0, bands, 12)[:, None]) / random.uniform(8, 80, 12)[:, None]) ** 2))
    cube = random.random((lines, samples, 12)) @ parts / 6
    return (cube + random.normal(0, 0.002, cube.shape)).astype(np.float32)


def scenes(data):
    """(name, values [line][sample][band], numbers of the bands)"""
    for name, path in SCENES.items():
        if (Path(data) / path).exists():
            cube = read_envi(Path(data) / path).astype(np.float32)
            numbers = np.arange(cube.shape[2])
            numbers[cube.shape[2] // 2 :] += 12  # a gap, as of water vapour
            yield name, cube, numbers
    numbers = np.arange(285)
    numbers[128:] += 10
    numbers[195:] += 20
    yield "EMIT-shaped", emit_like(), numbers


def write_scene(folder, cube, numbers):
    path = Path(folder) / "scene.img"
    write_envi(path, cube)
    header = path.with_suffix(".hdr")
    wavelengths = ", ".join(str(400 + STEP * n) for n in numbers)
    header.write_text(header.read_text() + "wavelength units = Nanometers\nwavelength = {" + wavelengths + "}\n")
    return path


def run(program, folder, path, *options):
    out = Path(folder) / "out.img"
    subprocess.run([program, "smooth", path, out, "--overwrite", *map(str, options)], check=True, capture_output=True)
    return read_envi(out).astype(np.float64)


def by_scipy(cube, numbers, points, order, derivative):
    ends = np.flatnonzero(np.diff(numbers) > 3) + 1
    runs = np.split(np.arange(len(numbers)), ends)
    parts = [
        savgol_filter(cube[..., run].astype(np.float64), points, order, deriv=derivative, delta=STEP, mode="interp") for run in runs
    ]
    return np.concatenate(parts, axis=-1)


def by_numpy(cube, kind):
    x = cube.astype(np.float64)
    if kind == "snv":
        return (x - x.mean(-1, keepdims=True)) / x.std(-1, ddof=1, keepdims=True)
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


def largest(got, expected):
    return float(np.abs(got - expected).max() / np.abs(expected).max())


def rows(program, data, folder):
    for name, cube, numbers in scenes(data):
        path = write_scene(folder, cube, numbers)
        for points, order, derivative in FILTERS:
            got = run(program, folder, path, "--points", points, "--order", order, "--derivative", derivative)
            expected = by_scipy(cube, numbers, points, order, derivative)
            what = f"scipy.signal.savgol_filter {points},{order},{derivative}"
            yield "smooth", what, scipy.__version__, name, largest(got, expected)
        for kind in ("snv", "brightness"):
            got = run(program, folder, path, "--normalise", kind)
            valid = np.isfinite(got).all(-1)
            yield "smooth", f"numpy {kind}", np.__version__, name, largest(got[valid], by_numpy(cube, kind)[valid])


if __name__ == "__main__":
    for row in rows(*sys.argv[1:4]):
        print("%-8s  %-36s  %-8s  %-14s  %.2g" % row)
