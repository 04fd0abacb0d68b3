"""What `hcube library import` reads of real files, beside what public readers read of them: one row a file.

    python3 bench/compare/words/library.py HCUBE FILES

HCUBE is the program, FILES a folder with files of spectra below it, by their endings: .asd (pyASDReader 1.2.3, else specdal 0.2.1),
.sed and .sig (specdal), .spectrum.txt (spectral 0.25), .txt of RELAB in a folder relab beside its .asc, and USGS text with its wavelengths in a
folder ASCIIdata (spectral). The source archives of spectral 0.25 and pyasdreader 1.2.3 on PyPI have such files:

    pip download --no-deps --no-binary :all: spectral==0.25 pyasdreader==1.2.3

Rows are: word, reference, its version, file, the largest difference over the largest value, and that of the wavelengths [nm].
Reflectance is compared where a reader has one; a file of which it has none is compared by its stored values.
"""
import csv
import os
import re
import subprocess
import sys
import tempfile
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")


def run(program, path, folder):
    """(wavelengths [nm], values, value of reflectance 1 or 0) of the only spectrum of a file."""
    out = Path(folder) / "out.csv"
    subprocess.run([program, "library", "import", path, out, "--overwrite", "--quiet"], check=True, capture_output=True, text=True)
    text = out.read_text()
    scale = re.search(r"# reflectance scale factor,(\S+)", text)
    rows = [row for row in csv.reader(text.splitlines()) if row and row[0][0].isdigit()]
    values = np.array([[float(cell or "nan") for cell in row] for row in rows])
    return values[:, 0], values[:, 1], float(scale.group(1)) if scale else 0


def asd(path):
    from pyASDReader import ASDFile

    found = ASDFile(str(path))
    wavelengths, values = np.array(found.wavelengths), found.reflectance
    if values is not None:
        return "pyasdreader", wavelengths, values, 1
    if found.referenceFileHeader.referenceFlag:
        from specdal.reader import read_asd

        table = read_asd(str(path))[0]
        return "specdal", wavelengths, (table["tgt_count"] / table["ref_count"]).to_numpy(), 1
    return "pyasdreader", wavelengths, found.digitalNumber, 0


def field(path):
    from specdal.reader import read_sed, read_sig

    table = (read_sed if path.suffix == ".sed" else read_sig)(str(path))[0]
    return "specdal", table.index.to_numpy(float), table["pct_reflect"].to_numpy(float), 1


def text(path):
    from spectral.database.ecostress import read_ecostress_file
    from spectral.database.relab import read_relab_file

    if "relab" in path.parts:
        found = read_relab_file(str(path.with_suffix(".asc")))
        return "spectral", np.array(found.x), np.array(found.y), 0
    found = read_ecostress_file(str(path))
    percent = "percent" in found.measurement["y units"].lower()
    return "spectral", np.array(found.x) * 1000, np.array(found.y), 100 if percent else 1


def usgs(path):
    from spectral.database.usgs import SampleData, SpectrometerData

    sample = SampleData.read_from_file(str(path))
    values = np.array(sample.values)
    for axis in path.parent.parent.glob("*Wavelengths*.txt"):
        bands = SpectrometerData.read_from_file(str(axis))
        if bands.measurement_type == "Wavelengths" and len(bands.values) == len(values) and bands.spectrometer_name in sample.spectrometer:
            return "spectral", np.array(bands.values) * (1 if bands.unit == "nanometer" else 1000), values, 0
    return "spectral", None, values, 0


def files(folder):
    """Files with their readers."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".asd":
            yield path, asd
        elif path.suffix in (".sed", ".sig"):
            yield path, field
        elif path.name.endswith(".spectrum.txt") or (path.suffix == ".txt" and "relab" in path.parts):
            yield path, text
        elif path.suffix == ".txt" and path.parent.name.startswith("Chapter"):
            yield path, usgs


def rows(program, folder):
    folder = Path(folder).resolve()
    with tempfile.TemporaryDirectory() as out:
        os.chdir(out)  # pyASDReader leaves logs where it runs
        for path, reader in files(folder):
            name, wavelengths, wanted, unit = reader(path)
            centre, values, scale = run(program, path, out)
            assert (scale > 0) == (unit > 0), f"{path}: which value is reflectance 1?"
            order = np.argsort(wavelengths, kind="stable") if wavelengths is not None else slice(None)
            wanted = np.where(np.abs(wanted) > 1e30, np.nan, wanted)[order] / (unit or 1)
            values = values / (scale or 1)
            assert values.shape == wanted.shape and (np.isnan(values) == np.isnan(wanted)).all(), f"{path}: other values are missing"
            apart = np.nanmax(np.abs(values - wanted), initial=0) / (np.nanmax(np.abs(wanted), initial=0) or 1)
            shift = np.abs(centre - wavelengths[order]).max() if wavelengths is not None else np.nan
            yield "library", name, metadata.version(name), path.name, apart, shift


if __name__ == "__main__":
    found = 0
    for row in rows(Path(sys.argv[1]).resolve(), sys.argv[2]):
        print("%-8s  %-14s  %-8s  %-34s  %.2g  %.2g nm" % row)
        found += 1
    sys.exit(0 if found > 0 else f"{sys.argv[2]}: no files of spectra")
