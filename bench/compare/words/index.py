"""index against spyndex: every optical index of its list, by Python's own arithmetic of its formulas.

    python3 bench/compare/words/index.py HCUBE SPYNDEX SCENES FOLDER

HCUBE is the program, SPYNDEX the folder of the installed package spyndex 0.12 (only its data are read), SCENES that of the real
scenes, FOLDER an empty one to work in. Prints rows: word, reference, version, scene, largest difference, indices. The difference
is absolute below 1 and relative above. Where the reference is not finite, or divides by 0, hcube must have no value; otherwise
the row ends with the number of pixels that differ in that. A scene without the bands of an index leaves it out.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from envi import read_envi, write_envi # noqa: E402

SCENES = {
    "Jasper Ridge": ("jasper-ridge/jasper_r198.img", 10000),
    "Samson": ("samson/samson.img", 1402),
}
BANDS = {"A": 442.7, "B": 492.4, "G": 559.8, "G1": 531, "N": 832.8, "N2": 864.7, "R": 664.6, "RE1": 704.1, "RE2": 740.5,
         "RE3": 782.8, "S1": 1613.7, "S2": 2202.4, "WV": 945.1, "Y": 605}
THERMAL = {"T", "T1", "T2"}
PAR = 1000.0 # has no default


class Values(np.ndarray):
    """Values of which a division by 0 leaves none."""

    def __truediv__(self, other):
        zero = np.asarray(other) == 0
        return np.where(zero, np.nan, np.asarray(self) / np.where(zero, 1, np.asarray(other))).view(Values)

    def __rtruediv__(self, other):
        return np.asarray(other).view(Values) / self


def header_list(path, key):
    text = path.with_suffix(".hdr").read_text(encoding="latin-1")
    at = text.lower().find("\n" + key + " ")
    return [float(v) for v in text[text.index("{", at) + 1:text.index("}", at)].split(",")] if at >= 0 else None


def optical(spyndex):
    """name -> formula of the indices that reflectances have."""
    load = lambda name: json.loads((spyndex / "data" / f"{name}.json").read_text(encoding="utf-8"))
    constants = {k: v["default"] for k, v in load("constants").items()}
    constants["PAR"] = PAR
    rows = load("spectral-indices-dict")["SpectralIndices"].values()
    return constants, {r["short_name"]: r["formula"] for r in rows
                       if r["application_domain"] not in ("radar", "kernel") and not THERMAL & set(r["bands"])}


def nearest(wavelength, fwhm, wanted):
    off = np.abs(wavelength - wanted)
    band = int(np.argmin(off))
    return band if off[band] <= max(10, fwhm[band] if fwhm is not None else 0) else None


def generated(folder):
    """An EMIT-shaped scene of random reflectances, with zeros among them."""
    rng = np.random.default_rng(7)
    cube = rng.uniform(0, 0.8, (40, 50, 285)).astype(np.float32)
    cube[rng.random(cube.shape) < 0.01] = 0
    path = folder / "generated.img"
    write_envi(path, cube)
    values = ", ".join(f"{v:.4f}" for v in np.linspace(381, 2493, 285))
    with open(path.with_suffix(".hdr"), "a", encoding="ascii") as header:
        header.write(f"wavelength units = Nanometers\nwavelength = {{{values}}}\n")
    return path


def compare(program, spyndex, path, one, folder):
    wavelength = np.array(header_list(path, "wavelength"))
    fwhm = header_list(path, "fwhm")
    cube = read_envi(path).astype(np.float64) * (1 / one)
    constants, indices = optical(spyndex)
    band = {name: nearest(wavelength, fwhm, at) for name, at in BANDS.items()}
    names = dict(constants)
    for name, at in band.items():
        if at is not None:
            names[name] = cube[..., at].view(Values)
            names["lambda" + name] = wavelength[at]
    wanted = [n for n, f in indices.items()
              if all(v in names for v in compile(f, n, "eval").co_names)]
    out = folder / "out.img"
    subprocess.run([program, "index", path, ",".join(wanted), out, "--overwrite", "--quiet", "--reflectance-one", str(one),
                    "--constants", f"PAR={PAR}"], check=True)
    got = read_envi(out)
    worst, lost = 0.0, 0
    for k, name in enumerate(wanted):
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(eval(indices[name], {}, names), got.shape[:2]) # pylint: disable=eval-used
            expected = np.where(np.abs(expected) > np.finfo(np.float32).max, np.nan, expected)
        both = np.isfinite(expected) & np.isfinite(got[..., k])
        lost += int(np.count_nonzero(np.isfinite(expected) != np.isfinite(got[..., k])))
        off = np.abs(got[..., k] - expected)[both] / np.maximum(1, np.abs(expected[both]))
        worst = max(worst, float(off.max(initial=0)))
    return worst, len(wanted), lost


def main(program, spyndex, scenes, folder):
    spyndex, folder = Path(spyndex), Path(folder)
    rows = [(name, Path(scenes) / file, one) for name, (file, one) in SCENES.items()]
    rows.append(("EMIT-shaped", generated(folder), 1))
    for name, path, one in rows:
        worst, count, lost = compare(program, spyndex, path, one, folder)
        print(f"index  spyndex  0.12.0  {name}  {worst:.1e}  {count} indices, {lost} missing values differ")


if __name__ == "__main__":
    main(*sys.argv[1:])
