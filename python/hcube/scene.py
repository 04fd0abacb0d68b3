"""A scene in memory: an array with what an ENVI header says of it, and its way to the program and back.

The program reads an array from a memory file (memfd), which has no name and ends with the run. A private folder in
/dev/shm has links to it and to its header, and takes the result until that is mapped: no pixel is on a disk.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Optional

import numpy as np

from .envi import DATA_TYPES, FileError, Header, PathLike, Shape
from .envi import in_nm, lies_in, map_file, map_raster, numbers, read_header
from .stages import Stages

AXES = {"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}  # of [line][sample][band], as they are stored
BLOCK = 16 << 20  # bytes that are turned at a time
OWN = (  # fields of a header that follow from an array, or from other members of a scene
    "samples", "lines", "bands", "header offset", "data type", "interleave", "byte order", "wavelength",
    "wavelength units", "fwhm", "bbl", "data ignore value", "map info", "coordinate system string", "band names",
)
Transform = tuple[float, float, float, float, float, float]


def _checked(values: Any) -> np.ndarray:
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError("scene: a masked array: fill it, and name the value as nodata")
    try:
        array = values if isinstance(values, np.ndarray) else np.asarray(values)
    except ValueError:
        raise ValueError("scene: rows of different length: no array") from None
    if array.dtype.newbyteorder("=").str[1:] not in DATA_TYPES or array.dtype.kind == "c":
        known = ", ".join(str(np.dtype(kind)) for kind in DATA_TYPES if kind[0] != "c")
        raise ValueError(f"scene: dtype {array.dtype}: the program reads {known}")
    if array.ndim != 3 or array.size == 0:
        raise ValueError(f"scene: shape {array.shape}: [line][sample][band] has 3 sizes above 0")
    return array


def _numbers(name: str, values: Any) -> np.ndarray:
    """As float64; NaN where a masked array has nothing."""
    try:
        if np.iscomplexobj(values):
            raise TypeError
        found = np.ma.filled(np.ma.asarray(values).astype(np.float64), np.nan)
    except (TypeError, ValueError):
        raise ValueError(f"scene: {name}: {' '.join(repr(values).split())[:80]}: not of numbers") from None
    return np.asarray(found)


def _list(name: str, values: Any, bands: int) -> Optional[np.ndarray]:
    """Finite positive numbers, one a band."""
    if values is None:
        return None
    found = _numbers(name, values)
    if found.shape != (bands,):
        raise ValueError(f"scene: {name}: shape {found.shape} for {bands} bands")
    wrong = np.flatnonzero(~(np.isfinite(found) & (found > 0)))
    if wrong.size:
        raise ValueError(f"scene: {name}: {found[wrong[0]]} at band {wrong[0]} (from 0)")
    return found


@dataclass
class Scene(Stages["Scene"]):
    """An array [line][sample][band], and what belongs to it.

    wavelength_nm, fwhm_nm, good (False: a bad band), names: one a band. nodata: the value of missing pixels. crs: WKT of
    the reference system. transform: from pixels to its coordinates, six numbers as GDAL orders them. fields: what else
    the header has, such as "reflectance scale factor". Stages are methods: `scene.mnf(components=5)` is a `Scene`.
    """

    values: np.ndarray
    wavelength_nm: Optional[np.ndarray] = None
    fwhm_nm: Optional[np.ndarray] = None
    good: Optional[np.ndarray] = None
    names: list[str] = field(default_factory=list)
    nodata: Optional[float] = None
    crs: Optional[str] = None
    transform: Optional[Transform] = None
    fields: Header = field(default_factory=dict)

    def run(self, words: Any, **options: Any) -> Any:
        """A stage or a chain over the scene: the scene that it makes, or the result of one that makes none."""
        from .program import run

        result = run(words, scene=self, **options)
        return result if result.scene is None else result.scene

    def checked(self) -> Scene:
        """A copy that the program can read; ValueError, one line, where it cannot."""
        values = _checked(self.values)
        bands = values.shape[2]
        if self.good is not None and np.shape(self.good) != (bands,):
            raise ValueError(f"scene: good: shape {np.shape(self.good)} for {bands} bands")
        names = [] if self.names is None else list(self.names)
        if names and len(names) != bands:
            raise ValueError(f"scene: names: {len(names)} for {bands} bands")
        if not isinstance(self.crs, (str, type(None))):
            raise ValueError(f"scene: crs: {self.crs!r}: not a text (WKT)")
        if not isinstance(self.fields, Mapping):
            raise ValueError(f"scene: fields: {self.fields!r}: not a dict")
        nodata = None if self.nodata is None else _numbers("nodata", self.nodata)
        if nodata is not None and nodata.size != 1:
            raise ValueError(f"scene: nodata: {nodata.size} values, where one is possible")
        transform = None if self.transform is None else _numbers("transform", self.transform)
        if transform is not None and (transform.shape != (6,) or not np.isfinite(transform).all()):
            raise ValueError(f"scene: transform: {self.transform}: not six finite numbers")
        if transform is not None and (transform[2] != 0 or transform[4] != 0):
            raise ValueError(f"scene: transform: {self.transform}: the grid is turned; write a GeoTIFF instead")
        return replace(
            self,
            values=values,
            wavelength_nm=_list("wavelength_nm", self.wavelength_nm, bands),
            fwhm_nm=_list("fwhm_nm", self.fwhm_nm, bands),
            names=names,
            nodata=None if nodata is None else float(nodata.item()),
        )


def _braced(values: Any) -> str:
    return "{" + ", ".join(re.sub(r"[{}\s,]+", " ", str(value)) for value in values) + "}"


def _header(scene: Scene, interleave: str, offset: int) -> str:
    """The ENVI header of a scene that is stored so, from a byte of its file on."""
    values = scene.values
    lines, samples, bands = values.shape
    found: dict[str, Any] = {
        "samples": samples,
        "lines": lines,
        "bands": bands,
        "header offset": offset,
        "file type": scene.fields.get("file type", "ENVI Standard"),
        "data type": DATA_TYPES[values.dtype.newbyteorder("=").str[1:]],
        "interleave": interleave,
        "byte order": int(values.dtype.str[0] == ">"),
    }
    if scene.wavelength_nm is not None:
        found.update({"wavelength units": "Nanometers", "wavelength": _braced(map(repr, scene.wavelength_nm.tolist()))})
    if scene.fwhm_nm is not None:
        found["fwhm"] = _braced(map(repr, scene.fwhm_nm.tolist()))
    if scene.good is not None:
        found["bbl"] = _braced(np.asarray(scene.good, bool).astype(int))
    if scene.nodata is not None:
        found["data ignore value"] = repr(float(scene.nodata)) if scene.nodata % 1 else f"{scene.nodata:.0f}"
    if scene.names:
        found["band names"] = _braced(scene.names)
    if scene.transform is not None:
        x, dx, _, y, _, dy = scene.transform
        found["map info"] = _braced(["Arbitrary", 1, 1, *map(repr, map(float, (x, y, dx, -dy)))])
    if scene.crs is not None:
        found["coordinate system string"] = "{" + " ".join(scene.crs.split()) + "}"
    for name, value in scene.fields.items():
        found.setdefault(name, _braced(value) if isinstance(value, list) else " ".join(str(value).split()))
    return "ENVI\n" + "".join(f"{name} = {value}\n" for name, value in found.items())


def _transform(fields: Header, path: PathLike) -> Optional[Transform]:
    info = fields.get("map info", [])
    if isinstance(info, str) or len(info) < 7:
        return None
    try:
        turned = [part for part in info if part.lower().startswith("rotation") and float(part.split("=")[1]) != 0]
        column, line, x, y, dx, dy = (float(part) for part in info[1:7])
    except (IndexError, ValueError):
        raise FileError(f"{path}: map info = {', '.join(info)[:80]}: a number is wrong") from None
    return None if turned else (x - (column - 1) * dx, dx, 0.0, y + (line - 1) * dy, 0.0, -dy)


def read_scene(path: PathLike, mode: Literal["r", "r+"] = "r") -> Scene:
    """A plain ENVI raster with its wavelengths, nodata value and place. mode: as of `numpy.memmap`."""
    fields = read_header(path)
    unit = str(fields.get("wavelength units", ""))
    good, nodata = numbers(fields, "bbl", path), numbers(fields, "data ignore value", path)
    names = fields.get("band names", [])
    crs = str(fields.get("coordinate system string", "")) or None
    return Scene(
        map_raster(path, mode),
        in_nm(numbers(fields, "wavelength", path), unit),
        in_nm(numbers(fields, "fwhm", path), unit),
        None if good is None else good != 0,
        [names] if isinstance(names, str) else names,
        None if nodata is None else float(nodata[0]),
        crs,
        _transform(fields, path),
        {name: value for name, value in fields.items() if name not in OWN},
    )


def as_scene(given: Any) -> Scene:
    """A scene of an array, of an xarray.DataArray, or as it is; checked."""
    if isinstance(given, Scene):
        return given.checked()
    if hasattr(given, "dims") and hasattr(given, "coords"):
        from .xarray import scene_of

        return scene_of(given).checked()
    return Scene(given).checked()


def _interleave(values: np.ndarray) -> str:
    """The order in which the array lies in memory; BIP where it is none of ENVI."""
    for name, axes in AXES.items():
        strides = [abs(values.strides[axis]) for axis in axes]
        if strides == sorted(strides, reverse=True):
            return name
    return "bip"


def empty(shape: Shape, dtype: Any = np.float32, interleave: str = "bil") -> np.ndarray:
    """An array [line][sample][band] of zeros in memory that the program can read: runs over it need no copy.

    interleave: the order in memory; bil, bip or bsq.
    """
    axes = AXES[interleave]
    stored = tuple(shape[axis] for axis in axes)
    file = os.fdopen(os.memfd_create("hcube empty"), "r+b")
    mapped = map_file(file, np.dtype(dtype), "r+", 0, (stored[0], stored[1], stored[2]))
    return mapped.transpose(np.argsort(axes))


def _store(values: np.ndarray, interleave: str, file: int) -> None:
    turned = values.transpose(AXES[interleave])
    step = max(1, BLOCK // (turned[0].size * turned.itemsize))
    os.ftruncate(file, values.nbytes)
    at = 0
    for first in range(0, len(turned), step):
        left = np.ascontiguousarray(turned[first : first + step]).reshape(-1).view(np.uint8)
        while left.size:
            written = os.pwrite(file, left.data, at)
            left, at = left[written:], at + written


# The memory file of the array that was copied last, for the next run, while that array is there (the reference). The
# system then has the pages already: copying into new ones takes three times as long, and freeing them half as long.
_kept: dict[int, weakref.ref[np.ndarray]] = {}


def _drop(file: int) -> None:
    if _kept.pop(file, None) is not None:
        os.close(file)


def _drop_all() -> None:
    for file in list(_kept):
        _drop(file)


# Two processes must not write into one file.
os.register_at_fork(after_in_child=_drop_all)


def _file_for(array: np.ndarray) -> tuple[int, weakref.ref[np.ndarray]]:
    """A memory file to copy an array into, and a reference that drops the file, once it is kept, with the array."""
    try:
        file, _ = _kept.popitem()
    except KeyError:
        file = os.memfd_create("hcube scene")
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return file, weakref.ref(root, lambda _: _drop(file))


class Exchange:
    """The folder by which a run takes a scene and returns its result. `descriptors` are for the program."""

    def __init__(self, scene: Scene) -> None:
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
        _remove_dead(shared)
        self.descriptors: list[int] = []
        self._array: Optional[weakref.ref[np.ndarray]] = None  # what was copied
        self.folder = Path(tempfile.mkdtemp(prefix=f"hcube-python-{os.getpid()}-", dir=shared))
        self.scene, self.result = self.folder / "scene.img", self.folder / "result.img"
        self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            interleave = _interleave(scene.values)
            offset = self._share(scene.values, interleave)
            header = os.memfd_create("hcube header")
            self._link(header, "scene.hdr")
            os.write(header, _header(scene, interleave, offset).encode())
        except BaseException:
            self.close()
            raise

    def _share(self, values: np.ndarray, interleave: str) -> int:
        """Links the file of the array, which is one of its own where it lies in none; where it begins there."""
        found = lies_in(values)
        if found is not None and values.transpose(AXES[interleave]).flags.c_contiguous:
            self._link(os.dup(found[0].fileno()), "scene.img")
            return found[1]
        file, self._array = _file_for(values)
        self._link(file, "scene.img")
        _store(values, interleave, file)
        return 0

    def _link(self, file: int, name: str) -> None:
        self.descriptors.append(file)
        os.symlink(f"/proc/self/fd/{file}", self.folder / name)

    def take(self) -> Optional[Scene]:
        """The result, where there is one: mapped, so that it stays when the folder is gone."""
        return read_scene(self.result, "r+") if self.result.is_file() else None

    def close(self) -> None:
        if self._array is not None and self.descriptors and not _kept:
            _kept[self.descriptors[0]] = self._array
            if self._array() is None:
                _drop_all()
            self.descriptors = self.descriptors[1:]
        for file in self.descriptors:
            os.close(file)
        self.descriptors = []
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def _is_locked(folder: Path) -> bool:
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _remove_dead(shared: str) -> None:
    """Folders of this user that a killed Python has left. That of a container has another number in ours, and a lock."""
    for folder in Path(shared).glob("hcube-python-*-*"):
        owner = folder.name.split("-")[2]
        try:
            own = owner.isdigit() and folder.stat().st_uid == os.getuid()
            if own and not os.path.exists(f"/proc/{owner}") and not _is_locked(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass  # another process removes it
