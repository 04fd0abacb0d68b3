"""Models, statistics, sums, records, spectral libraries and tables of hcube (docs/files.md)."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Optional, TypeVar

import numpy as np

from .envi import FileError, PathLike, in_nm, numbers, read_header, read_raster

FLOATS = ("wavelength_nm", "fwhm_nm", "gain", "offset", "eigenvalues", "mean")
WHOLES = ("file_bands_from_0", "left_out_bands_from_1", "unit_exponent")
MISSING = 1e30  # values of a library from here on are deleted channels



class Fields:
    """A dataclass that reads like a dict, too: model["mean"] is model.mean. Keys without a member are in `other`."""

    other: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name) if name in {part.name for part in fields(self)} else self.other[name]  # type: ignore


@dataclass
class Bands(Fields):
    """Which bands of which scene a model or statistics are of [p]; None where the file does not say."""

    bands: int
    mean: np.ndarray
    wavelength_nm: Optional[np.ndarray] = None
    fwhm_nm: Optional[np.ndarray] = None
    file_bands_from_0: Optional[np.ndarray] = None
    pixels: Optional[int] = None
    nodata: Optional[float] = None
    other: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class Model(Bands):
    """Components are `(x - mean) @ forward`, spectra `mean + y @ inverse`."""

    method: str = ""
    components: int = 0
    eigenvalues: np.ndarray = field(default_factory=lambda: np.empty(0))
    forward: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    inverse: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))


@dataclass
class Statistics(Bands):
    covariance: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))


@dataclass
class Sums(Bands):
    """`sum` [p] and `products` [p][p] are arrays of Python's int: they are exact, and may exceed 64 bits."""

    sum: np.ndarray = field(default_factory=lambda: np.empty(0, object))
    products: np.ndarray = field(default_factory=lambda: np.empty((0, 0), object))
    center: Optional[np.ndarray] = None
    unit_exponent: Optional[np.ndarray] = None


@dataclass
class Library(Fields):
    """`spectra` [n][p] in float64, with NaN where a value is missing."""

    names: list[str]
    spectra: np.ndarray
    wavelength_nm: Optional[np.ndarray] = None
    fwhm_nm: Optional[np.ndarray] = None
    reflectance_scale_factor: Optional[float] = None
    other: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class Table:
    """Columns of a CSV file by their names: arrays of float64, NaN where a cell is empty, or lists of texts."""

    columns: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]


Made = TypeVar("Made", bound=Bands)


def _make(kind: type[Made], found: dict[str, Any]) -> Made:
    own = {part.name for part in fields(kind)}
    rest = {name: value for name, value in found.items() if name not in own}
    return kind(**{name: value for name, value in found.items() if name in own}, other=rest)


def _load(path: PathLike, key: str, what: str, versions: tuple[int, ...] = (1,)) -> dict[str, Any]:
    """The JSON object of a file that is one of these, of the version that is known."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError as error:
        raise FileError(f"{path}: no {what} of hcube: {error}") from None
    if not isinstance(found, dict) or key not in found:
        raise FileError(f"{path}: no {what} of hcube: it has no {key}")
    if found[key] not in versions:
        writer = found.get("version", "of a later version")
        raise FileError(f"{path}: {key} {found[key]} is a version that is not known here, written by hcube {writer}")
    return found


def _floats(values: list[float | None]) -> np.ndarray:
    """JSON has null for NaN."""
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _shape(found: dict[str, Any], name: str, shape: tuple[int, ...], path: PathLike) -> None:
    values = np.asarray(found.get(name, ()))
    if values.size != math.prod(shape):
        raise FileError(f"{path}: {name} has {values.size} numbers instead of {math.prod(shape)}")
    found[name] = values.reshape(shape)


def _arrays(found: dict[str, Any], more: tuple[str, ...] = ()) -> dict[str, Any]:
    for name in FLOATS + more:
        if name in found:
            found[name] = _floats(found[name])
    for name in WHOLES:
        if name in found:
            found[name] = np.array(found[name], np.int64)
    return found


def read_model(path: PathLike) -> Model:
    """A model of `pca` or `mnf` (`--save-model`).

    Arrays are `mean` [p], `eigenvalues` [m], `forward` [p][m], `inverse` [m][p], and wavelengths and the like [p].
    """
    model = _arrays(_load(path, "hcube_model", "model"), ("forward", "inverse"))
    bands, components = model["bands"], model["components"]
    _shape(model, "mean", (bands,), path)
    _shape(model, "eigenvalues", (components,), path)
    _shape(model, "forward", (bands, components), path)
    _shape(model, "inverse", (components, bands), path)
    return _make(Model, model)


def read_statistics(path: PathLike) -> Statistics:
    """Mean [p] and covariance [p][p] of a scene or of its noise (`cov`)."""
    found = _arrays(_load(path, "hcube_statistics", "statistics file"), ("covariance",))
    bands = found["bands"]
    _shape(found, "mean", (bands,), path)
    _shape(found, "covariance", (bands, bands), path)
    return _make(Statistics, found)


def _whole_numbers(text: str) -> np.ndarray:
    return np.array([int(word) for word in text.split()], object)


def read_sums(path: PathLike) -> Sums:
    """Sums of a scene (`cov --sums`, `batch --pool`).

    Of an integer scene they are sums of x, of a float scene of (x - center) / 2**unit_exponent, with `center` and `unit_exponent` [p].
    """
    found = _arrays(_load(path, "hcube_sums", "sums file", (1, 2)), ("center",))
    bands = found["bands"]
    for name in ("sum", "products"):
        found[name] = _whole_numbers(found.get(name, ""))
    _shape(found, "sum", (bands,), path)
    _shape(found, "products", (bands * (bands + 1) // 2,), path)
    products = np.empty((bands, bands), object)
    rows, columns = np.triu_indices(bands)
    products[rows, columns] = products[columns, rows] = found["products"]
    found["products"] = products
    pixels = found.get("pixels") or 1
    center, unit = found.get("center", 0.0), found.get("unit_exponent", np.zeros(bands, int))
    found["mean"] = center + found["sum"].astype(np.float64) * 2.0**unit / pixels
    return _make(Sums, found)


def read_record(path: PathLike) -> dict[str, Any]:
    """The record of a run: of OUTPUT.hcube.json, or of the output beside which it lies."""
    beside = Path(f"{path}.hcube.json")
    is_record = str(path).endswith(".json") and not beside.is_file()
    return _load(path if is_record else beside, "hcube_record", "record")


def _envi_library(path: PathLike) -> dict[str, Any]:
    fields = read_header(path)
    if str(fields.get("file type", "")).lower() != "envi spectral library":
        raise FileError(f"{path}: no spectral library: file type = {fields.get('file type', '')} in its header")
    spectra = np.array(read_raster(path)[:, :, 0], np.float64)
    ignored, good = numbers(fields, "data ignore value", path), numbers(fields, "bbl", path)
    if ignored is not None:
        spectra[spectra == ignored[0]] = math.nan
    if good is not None:
        spectra[:, good == 0] = math.nan
    names = fields.get("spectra names", [])
    scale = numbers(fields, "reflectance scale factor", path)
    found: dict[str, Any] = {
        "names": [names] if isinstance(names, str) else names,
        "spectra": spectra,
    }
    for name, field in (("wavelength_nm", "wavelength"), ("fwhm_nm", "fwhm")):
        found[name] = in_nm(numbers(fields, field, path), str(fields.get("wavelength units", "")))
    found["reflectance_scale_factor"] = None if scale is None else float(scale[0])
    return found


def _cells(path: PathLike) -> list[list[str]]:
    lines = [line for line in Path(path).read_text(encoding="utf-8-sig").splitlines() if not line.startswith("#")]
    first = lines[0] if lines else ""
    quoted = False
    separator = ","
    for letter in first:
        quoted ^= letter == '"'
        if letter in ",;\t" and not quoted:
            separator = letter
            break
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
    rows = [row for row in rows if any(row)]
    if len(rows) < 2 or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise FileError(f"{path}: no table of spectra, a line a band or a line a spectrum")
    return rows


def _number(cell: str, path: PathLike) -> float:
    if cell == "" or cell.upper() == "NA":
        return math.nan
    try:
        return float(cell)
    except ValueError:
        raise FileError(f"{path}: '{cell}' is not a number") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _name(cell: str) -> str:
    """Without the apostrophe that keeps spreadsheets from computing a name."""
    rest = cell.lstrip("'")
    guarded = cell != rest and rest.lstrip(" ")[:1] in tuple("=+-@") and not _is_number(rest)
    return cell[1:] if guarded else cell


def _csv_library(path: PathLike) -> dict[str, Any]:
    rows = _cells(path)
    across = all(map(_is_number, rows[0][1:])) and not all(_is_number(row[0]) for row in rows[1:])
    first = rows[0][0].lower()
    if not across:  # a line a band: turned round
        rows = [list(column) for column in zip(*rows)]
    table = np.array([[_number(cell, path) for cell in row[1:]] for row in (rows if across else rows[1:])])
    if across:
        axis, spectra = table[0], table[1:]
    else:
        axis, spectra = np.array([_number(cell, path) for cell in rows[0][1:]]), table
    unit = first.strip(" _[]()/.")
    for letter in "_[]()/.":
        unit = unit.replace(letter, " ")
    word = unit.split()[-1] if unit.split() else ""
    counted = not across and word in ("band", "bands", "channel", "channels", "index", "number")
    named = word.startswith(("nm", "nano", "um", "µm", "μm", "micro"))
    return {
        "names": [_name(row[0]) for row in rows[1:]],
        "spectra": spectra,
        "wavelength_nm": None if counted else in_nm(axis, word if named else ""),
        "fwhm_nm": None,
        "reflectance_scale_factor": None,
    }


def read_table(path: PathLike) -> Table:
    """A CSV file that hcube wrote: figures of bands, classes, detections, accuracy."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(line for line in file if not line.startswith("#")) if row]
    if len(rows) < 1 or any(len(row) != len(rows[0]) for row in rows):
        raise FileError(f"{path}: no table: its lines differ in their number of cells")
    columns = {}
    for name, *cells in zip(*rows):
        numeric = all(cell in ("", "NA") or _is_number(cell) for cell in cells)
        columns[name] = np.array([_number(cell, path) for cell in cells]) if numeric else [_name(c) for c in cells]
    return Table(columns)


def read_library(path: PathLike) -> Library:
    """A spectral library, ENVI (.sli or its header) or CSV.

    `spectra` [n][p] is float64 with NaN for missing values: deleted channels, bad bands, the header's ignored value,
    empty cells. `names` has n texts; `wavelength_nm` and `fwhm_nm` [p], and `reflectance_scale_factor`, are None where
    the file does not say. No spectrum is left out, and no outlying value, as the stages of hcube do.
    """
    found = (_csv_library if str(path).lower().endswith(".csv") else _envi_library)(path)
    spectra = found["spectra"]
    spectra[~(np.abs(spectra) < MISSING)] = math.nan
    found["names"] = [
        found["names"][i] if i < len(found["names"]) and found["names"][i] else f"Spectrum {i + 1}"
        for i in range(len(spectra))
    ]
    return Library(**found)
