"""ENVI headers, and rasters as memory-mapped arrays."""

from __future__ import annotations

import os
import re
import weakref
from pathlib import Path
from typing import Any, BinaryIO, Literal, Union

import numpy as np

Header = dict[str, Union[str, list[str]]]
Shape = tuple[int, int, int]
PathLike = Union[str, "os.PathLike[str]"]

TYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 6: "c8", 9: "c16", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
DATA_TYPES = {kind: number for number, kind in TYPES.items()}
ENDINGS = ("", ".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".bin", ".rdn", ".rfl", ".cube", ".fla", ".sli")
TEXTS = ("description", "coordinate system string")  # braces around one text, commas and all


class FileError(ValueError):
    """A file is not what was asked for. The message is one line that names the file."""


def header_path(path: PathLike) -> Path | None:
    """The header beside a data file, where there is one: scene.img.hdr or scene.hdr."""
    data = Path(path)
    if data.suffix.lower() == ".hdr":
        return data
    for candidate in (f"{data}.hdr", data.with_suffix(".hdr"), f"{data}.HDR", data.with_suffix(".HDR")):
        if os.path.isfile(candidate):
            return Path(candidate)
    return None


def data_path(path: PathLike) -> Path:
    """The data file of a header, or the path itself where it names one."""
    given = Path(path)
    if given.suffix.lower() != ".hdr":
        return given
    for ending in ENDINGS:
        for candidate in (f"{given.with_suffix('')}{ending}", f"{given.with_suffix('')}{ending.upper()}"):
            if os.path.isfile(candidate):
                return Path(candidate)
    raise FileError(f"{given}: there is no data file beside it")


def read_header(path: PathLike) -> Header:
    """The fields of an ENVI header, by their names in small letters: texts, and lists of texts.

    `path` is the header or its data file.
    """
    found = header_path(path)
    if found is None:
        raise FileError(f"{path}: there is no ENVI header beside it; rasterio or GDAL read other formats")
    text = found.read_text(encoding="utf-8", errors="replace")
    if not text.lstrip("\ufeff").startswith("ENVI"):
        raise FileError(f"{found}: not an ENVI header")
    text = re.sub(r"(?m)^[ \t]*;.*$", "", text)
    fields: Header = {}
    for match in re.finditer(r"(?m)^[ \t]*([^={}\n]+?)[ \t]*=[ \t]*(?:\{([^}]*)\}|([^\n]*))", text):
        name = " ".join(match[1].lower().split())
        if match[2] is None:
            fields[name] = match[3].strip()
        elif name in TEXTS:
            fields[name] = match[2].strip()
        else:
            fields[name] = [part.strip() for part in match[2].split(",")]
    return fields


def numbers(fields: Header, name: str, path: PathLike) -> np.ndarray | None:
    """A list of the header as float64, None where it has none."""
    value = fields.get(name)
    if value is None:
        return None
    try:
        return np.array([value] if isinstance(value, str) else value, np.float64)
    except ValueError:
        raise FileError(f"{path}: {name} = {str(value)[:80]}: not a list of numbers") from None


def in_nm(values: np.ndarray | None, unit: str) -> np.ndarray | None:
    """Wavelengths in nanometres; None where the unit is no length. Without a unit, small ones are micrometres."""
    unit = unit.strip().lower().replace("µ", "u").replace("μ", "u")
    if values is None or not (values > 0).all():
        return None
    if unit in ("", "unknown"):
        return values * (1000.0 if values.max() < 100 else 1.0)
    if unit.startswith(("nano", "nm")):
        return values
    return values * 1000.0 if unit.startswith(("micro", "um")) else None


def _count(fields: Header, name: str, path: PathLike, least: int = 0) -> int:
    try:
        value = int(str(fields.get(name, "0")))
    except ValueError:
        value = -1
    if value < least:
        raise FileError(f"{path}: {name} = {fields.get(name, '')} in its header")
    return value


def read_raster(path: PathLike) -> np.memmap:
    """A plain ENVI raster as an array [line][sample][band] that is mapped from the file and cannot be written.

    `path` is the data file or its header. Values are as stored: no gain is applied, and nodata stays
    (`read_header(path)["data ignore value"]`). Other formats are refused: rasterio and GDAL read them.
    """
    return map_raster(path, "r")


def map_file(file: BinaryIO, dtype: np.dtype, mode: Literal["r", "r+"], offset: int, shape: Shape) -> np.memmap:
    """A mapped array that keeps its file open: a run over it reads the file, and needs no copy (`lies_in`)."""
    mapped: np.memmap = np.memmap(file, dtype, mode, offset, shape)
    mapped.hcube_file = file  # type: ignore[attr-defined]
    weakref.finalize(mapped, file.close)
    return mapped


def lies_in(array: np.ndarray) -> tuple[BinaryIO, int] | None:
    """The open file that an array is a part of, and where it begins there; None where it lies in memory alone."""
    root: Any = array
    while isinstance(root, np.ndarray):
        if isinstance(root, np.memmap) and "hcube_file" in vars(root):
            begin = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
            return vars(root)["hcube_file"], root.offset + begin
        root = root.base
    return None


def map_raster(path: PathLike, mode: Literal["r", "r+"]) -> np.memmap:
    """The same in a mode of `numpy.memmap`."""
    fields = read_header(path)
    data = data_path(path)
    lines, samples, bands = (_count(fields, name, data, 1) for name in ("lines", "samples", "bands"))
    offset = _count(fields, "header offset", data)
    kind = TYPES.get(_count(fields, "data type", data, 1))
    if kind is None:
        raise FileError(f"{data}: data type = {fields['data type']} in its header")
    if _count(fields, "file compression", data) != 0:
        raise FileError(f"{data}: it is compressed; GDAL reads it")
    dtype = np.dtype((">" if _count(fields, "byte order", data) == 1 else "<") + kind)
    orders: dict[str, tuple[Shape, Shape]] = {
        "bsq": ((bands, lines, samples), (1, 2, 0)),
        "bil": ((lines, bands, samples), (0, 2, 1)),
        "bip": ((lines, samples, bands), (0, 1, 2)),
    }
    order = str(fields.get("interleave", "bsq")).lower()
    if order not in orders:
        raise FileError(f"{data}: interleave = {order} in its header")
    needed = offset + lines * samples * bands * dtype.itemsize
    if os.path.getsize(data) < needed:
        raise FileError(f"{data}: {os.path.getsize(data)} bytes, where its header describes {needed}")
    shape, axes = orders[order]
    return map_file(open(data, "rb" if mode == "r" else "r+b"), dtype, mode, offset, shape).transpose(axes)
