"""How close `continuum` comes to Spectral Python: rows of word, reference, version, scene, largest difference.

    python3 bench/compare/words/continuum.py HCUBE SCENES [EMIT.img]

SCENES is the folder of the real scenes (HCUBE_DATA); EMIT.img a generated scene with wavelengths. Each hull that the record names
is compared with spectral.remove_continuum of the bands in it, in float64. Hulls of 1 or 2 bands have no reference; values where
the hull is not positive are missing in one and quotients in the other, so they are counted and left out. Differences are relative
where a quotient is beyond 1: negative values below a hull of almost 0 are divided to thousands, and rounded to float32.
"""
import json, subprocess, sys, tempfile
from pathlib import Path

import numpy as np
import spectral
from spectral.algorithms.continuum import remove_continuum, spectral_continuum

sys.path.insert(0, str(Path(__file__).parent.parent))
from envi import read_envi

SCENES = {"Jasper Ridge": "jasper-ridge/jasper_r198.img", "Samson": "samson/samson.img"}
PIXELS = 20000  # of a scene, spread evenly: the reference takes a millisecond each


def largest_difference(hcube, scene, scratch):
    """The largest difference of quotients, and the values that are compared and left out."""
    out = Path(scratch) / "removed.img"
    subprocess.run([hcube, "continuum", scene, out, "--overwrite", "--interleave", "bip"], check=True, capture_output=True)
    record = json.loads(Path(f"{out}.hcube.json").read_text())
    header = spectral.io.envi.read_envi_header(str(out.with_suffix(".hdr")))
    wavelength = np.array([float(w) for w in header["wavelength"]])
    before = read_envi(scene)
    removed = read_envi(out)
    before = before.reshape(-1, before.shape[-1])
    removed = removed.reshape(-1, removed.shape[-1])
    step = max(1, len(before) // PIXELS)
    before, removed = before[::step].astype(float), removed[::step].astype(float)
    worst, compared, left_out = 0.0, 0, 0
    for low, high in next(s for s in record["steps"] if s["stage"] == "continuum")["result"]["hulls_nm"]:
        bands = np.flatnonzero((wavelength >= low - 1e-3) & (wavelength <= high + 1e-3))
        bands = bands[np.argsort(wavelength[bands])]
        if len(bands) < 3:
            continue
        hull = spectral_continuum(before[:, bands], wavelength[bands])
        with np.errstate(all="ignore"):
            expected = remove_continuum(before[:, bands], wavelength[bands])
        fine = hull > 0
        assert np.isnan(removed[:, bands][~fine]).all(), "a hull that is not positive has a quotient"
        apart = np.abs(removed[:, bands] - expected) / np.maximum(np.abs(expected), 1)
        worst = max(worst, apart[fine].max())
        compared += int(fine.sum())
        left_out += int((~fine).sum())
    return worst, compared, left_out


def rows(hcube, scenes, scratch):
    """scenes: name -> file."""
    for name, scene in scenes.items():
        if Path(scene).exists():
            worst, compared, left_out = largest_difference(hcube, scene, scratch)
            note = f"{name} ({compared} values" + (f", {left_out} below a hull that is not positive)" if left_out else ")")
            yield "continuum", "spectral.remove_continuum", spectral.__version__, note, worst


def main():
    hcube, folder, *emit = sys.argv[1:]
    scenes = {name: f"{folder}/{file}" for name, file in SCENES.items()}
    scenes.update({"EMIT shape": file for file in emit})
    with tempfile.TemporaryDirectory() as scratch:
        for word, reference, version, scene, worst in rows(hcube, scenes, scratch):
            print(f"| {word} | {reference} | {version} | {scene} | {worst:.2g} |")
            assert worst <= 1e-6, f"{word} differs from {reference} by {worst}"


if __name__ == "__main__":
    main()
