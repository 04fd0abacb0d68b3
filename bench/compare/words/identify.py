"""Compares identify with CRAMM (PyPI, MIT): the same rules, references and pixels.

    python3 identify.py PROGRAM CRAMM DATA [LINES [SAMPLES]]

PROGRAM: hcube. CRAMM: the folder in which the package `cramm` lies (its wheel, unpacked). DATA: the folder of test data with
jasper-ridge/ and samson/. Prints a row a comparison: word, reference, version, scene, largest difference, and the share of
pixels of the same class. References are those of CRAMM, resampled by it to the bands of each scene and rounded to float32, so
that rules alone are compared. A last row has those that hcube resamples itself.

The scene "generated" has the bands of EMIT: mixtures of two references each, with a shade and noise.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from envi import read_envi  # noqa: E402

VERSION = "1.5.0"


def emit_bands():
    centre = np.linspace(381.0, 2493.0, 285)
    return centre, np.full(285, 8.5)


def write_envi(path, data, interleave, header):
    """data: [lines][samples][bands] for bip, [spectra][bands] for a library."""
    data = np.ascontiguousarray(data, np.float32)
    data.tofile(path)
    library = data.ndim == 2
    lines, samples, bands = (data.shape[0], data.shape[1], 1) if library else data.shape
    text = ["ENVI", f"samples = {samples}", f"lines = {lines}", f"bands = {bands}", "header offset = 0",
            "file type = " + ("ENVI Spectral Library" if library else "ENVI Standard"), "data type = 4",
            f"interleave = {interleave}", "byte order = 0"]
    for key, values in header.items():
        joined = ", ".join(values) if isinstance(values, list) else values
        text.append(f"{key} = {{{joined}}}" if isinstance(values, list) else f"{key} = {joined}")
    pathlib.Path(path).with_suffix(".hdr").write_text("\n".join(text) + "\n")


def header_list(path, key):
    found = re.search(rf"(?mi)^\s*{key}\s*=\s*{{([^}}]*)}}", path.with_suffix(".hdr").read_text(errors="replace"))
    return np.array([float(v) for v in found.group(1).split(",")]) if found else None


def read_scene(path, one):
    centre, width = header_list(path, "wavelength"), header_list(path, "fwhm")
    unit = 1000 if centre.max() < 100 else 1
    width = width if width is not None else np.abs(np.gradient(centre))
    return (read_envi(path) / one).astype(np.float32), centre * unit, width * unit


def generated(engine, lines, samples):
    centre, width = emit_bands()
    references = engine.get_resample(centre / 1000, width / 1000)
    spectra = np.array([np.nan_to_num(v, nan=0.3) for v in references.values()])
    random = np.random.default_rng(1)
    pixels = lines * samples
    pair = random.integers(0, len(spectra), (2, pixels))
    share = random.beta(0.4, 0.4, (pixels, 1))
    shade = random.uniform(0.3, 1.1, (pixels, 1))
    scene = (share * spectra[pair[0]] + (1 - share) * spectra[pair[1]]) * shade
    scene += random.normal(0, 0.002, scene.shape)
    return scene.reshape(lines, samples, -1).astype(np.float32), centre, width


def run_cramm(engine, scene, centre, width):
    """Classes from 1 (0 = none), fit, and fit x depth, by CRAMM with references in float32."""
    import cramm.classifier

    micro, wide = centre / 1000, width / 1000
    classifier = engine._classifier
    classifier.invalidate_caches()
    references = classifier.get_resample(micro, wide)
    for name in references:
        references[name] = references[name].astype(np.float32).astype(np.float64)
    cramm.classifier.print = lambda *_: None
    found = classifier.classify(scene.astype(np.float64), micro, micro, wide, np.arange(len(micro)), n_workers=1)
    number = np.where(found.fit > 0, found.num.astype(int) + 1, 0)
    return references, number, found.fit, found.depth


def run_hcube(program, folder, library, rules, scene):
    out = folder / "out.img"
    subprocess.run([program, "identify", scene, out, "--library", library, "--rules", rules, "--overwrite", "--quiet",
                    "--scale", "none"], check=True)
    data = np.moveaxis(read_envi(out), 2, 0).reshape(4, -1)
    return data[0].astype(int), data[1], data[3]


def compare(program, engine, folder, name, cube):
    import cramm

    scene, centre, width = cube
    rules = pathlib.Path(cramm.__file__).parent / "data" / "temp_rf_notfeatures_renamed.json"
    references, number, fit, product = run_cramm(engine, scene, centre, width)
    bands = {"wavelength": [repr(float(v)) for v in centre], "fwhm": [repr(float(v)) for v in width],
             "wavelength units": "Nanometers"}
    names = list(references)
    write_envi(folder / "scene.img", scene, "bip", bands)
    write_envi(folder / "library.sli", np.array([references[n] for n in names]), "bsq",
               {**bands, "spectra names": names})
    grid, _, _, spectra = engine._classifier._1nm_bundle
    write_envi(folder / "fine.sli", spectra, "bsq",
               {"wavelength": [repr(float(v)) for v in grid * 1000], "wavelength units": "Nanometers",
                "fwhm": ["0.001"] * len(grid), "spectra names": names})
    if not number.any():
        print(f"identify\tCRAMM\t{VERSION}\t{name}\t-\tCRAMM finds nothing: no rule has its bands, and hcube refuses", flush=True)
        return
    for library, what in (("library.sli", name), ("fine.sli", name + ", resampled by hcube")):
        own = run_hcube(program, folder, folder / library, rules, folder / "scene.img")
        same = own[0] == number
        both = same & (number > 0)
        worst = max((np.abs(own[1] - fit)[both].max(), np.abs(own[2] - product)[both].max()) if both.any() else (0, 0))
        print(f"identify\tCRAMM\t{VERSION}\t{what}\t{worst:.3g}\t{100 * same.mean():.4f} % of {len(number)} pixels,"
              f" {100 * (number > 0).mean():.1f} % found, {len(np.unique(number[number > 0]))} classes", flush=True)


def rows(program, cramm_folder, data, lines=300, samples=200):
    sys.path.insert(0, str(cramm_folder))
    from cramm import MicaEngine

    engine = MicaEngine()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        compare(program, engine, folder, "generated", generated(engine, lines, samples))
        for scene, path, one in (("Jasper Ridge", "jasper-ridge/jasper_r198.img", 10000),
                                 ("Samson", "samson/samson.img", 1402)):
            compare(program, engine, folder, scene, read_scene(pathlib.Path(data) / path, one))


if __name__ == "__main__":
    rows(sys.argv[1], sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
