"""resample beside hyperproc and Spectral Python: one row a comparison.

    python3 bench/compare/words/resample.py HCUBE DATA FOLDER

HCUBE is the program, DATA the folder of the real scenes (jasper-ridge/, samson/), FOLDER an empty one for outputs. Rows are: word,
reference, its version, scene, the largest difference over the largest value. Of hyperproc only hyperproc.spectral.resampling is
loaded, since the package asks for libraries that this does not need.
"""
import importlib.util, re, subprocess, sys, types
from importlib import metadata
from pathlib import Path

import numpy as np
import spectral

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from envi import read_envi
from smooth import largest, scenes, write_scene

SENSORS = {"sentinel-2a": "Sentinel-2A/MSI", "landsat-8": "Landsat-8/OLI_TIRS"}
GRIDS = [(20, 20), (10, 15), (40, 60)]
FINE = np.arange(300.0, 2701.0)


def hyperproc():
    """The module of the weights, with stubs for what it imports and does not use here."""
    root = Path(importlib.util.find_spec("hyperproc").submodule_search_locations[0])
    for name, path in (("hyperproc", root), ("hyperproc.spectral", root / "spectral")):
        package = types.ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package
    for name, part in (("hyperproc.io", "main_var"), ("hyperproc.spectral.bands", "good_bands")):
        sys.modules[name] = types.ModuleType(name)
        setattr(sys.modules[name], part, None)
    try:
        import xarray  # noqa: F401
    except ImportError:
        sys.modules["xarray"] = types.ModuleType("xarray")
        sys.modules["xarray"].Dataset = sys.modules["xarray"].DataArray = object
    return importlib.import_module("hyperproc.spectral.resampling")


def responses(sensor):
    """(names, [band][FINE]) of a sensor, as pyrsr has them; the thermal bands are left out."""
    root = Path(importlib.util.find_spec("pyrsr").submodule_search_locations[0]) / "data" / SENSORS[sensor]
    tables = {}
    for path in root.glob("band_*"):
        table = np.array([line.split() for line in path.read_text().splitlines()[1:] if line.strip()], float)
        table[:, 0] *= 1000 if table[0, 0] < 100 else 1
        if table[0, 0] < 3000:
            tables[path.name[5:]] = np.interp(FINE, table[:, 0], table[:, 1].clip(0), left=0, right=0)
    names = sorted(tables, key=lambda name: float(name.replace("A", ".5")))
    return names, np.array([tables[name] for name in names])


def run(program, folder, path, *options):
    out = Path(folder) / "out.img"
    subprocess.run([program, "resample", path, out, "--overwrite", *map(str, options)], check=True, capture_output=True)
    header = out.with_suffix(".hdr").read_text()
    listed = lambda key: re.search(key + r" = \{([^}]*)\}", header).group(1).replace("\n", "").split(",")
    names = [name.strip() for name in listed("band names")] if "band names" in header else None
    return read_envi(out), np.array(listed("wavelength"), float), names


def rows(program, data, folder):
    resampling = hyperproc()
    version = metadata.version("hyperproc")
    for name, cube, numbers in scenes(data):
        wavelengths = 400.0 + 7.4 * numbers
        widths = 8.0 + 0.002 * (wavelengths - 400)
        path = write_scene(folder, cube, numbers)
        header = path.with_suffix(".hdr")
        text = re.sub(r"wavelength = .*", "wavelength = {%s}" % ", ".join(map(repr, wavelengths.tolist())), header.read_text())
        header.write_text(text + "fwhm = {%s}\n" % ", ".join(map(repr, widths.tolist())))
        for step, width in GRIDS:
            grid = np.arange(wavelengths[0], wavelengths[-1], step)
            table = Path(folder) / "grid.txt"
            table.write_text("".join(f"{w!r} {width}\n" for w in grid.tolist()))
            for method, label in (("gaussian", "hyperproc gaussian"), ("box", "hyperproc box")):
                got, bands, _ = run(program, folder, path, "--wavelengths", table, "--method", method)
                matrix, _ = resampling.resampling_matrix(
                    wavelengths, grid, widths, np.full(len(grid), float(width)), method, allow_sharpening=True
                )
                kept = np.isfinite(matrix).all(1)
                assert np.allclose(grid[kept], bands)
                yield "resample", f"{label} {step}/{width} nm", version, name, largest(got, cube @ matrix[kept].T)
            matrix = spectral.BandResampler(wavelengths, grid, widths, np.full(len(grid), float(width))).matrix
            what = f"spectral.BandResampler {step}/{width} nm (--method box)"
            yield "resample", what, spectral.__version__, name, largest(got, cube @ matrix[kept].T)
        for sensor in SENSORS:
            names, response = responses(sensor)
            got, bands, kept = run(program, folder, path, "--responses", sensor)
            at = [names.index(band[1:]) for band in kept]
            centre = (response * FINE).sum(1) / response.sum(1)
            matrix, _ = resampling.resampling_matrix(
                wavelengths, centre, widths, np.full(len(names), 20.0), "response", response, FINE, min_coverage=0, allow_sharpening=True
            )
            assert np.abs(centre[at] - bands).max() < 0.01
            yield "resample", f"hyperproc response {sensor}", version, name, largest(got, cube @ matrix[at].T)


if __name__ == "__main__":
    for row in rows(*sys.argv[1:4]):
        print("%-8s  %-48s  %-8s  %-14s  %.2g" % row)
