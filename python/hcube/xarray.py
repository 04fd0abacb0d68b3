"""The accessor `hcube` of xarray.DataArray, which `import hcube.xarray` registers.

    import hcube.xarray

    components = cube.hcube.mnf(components=20)     # a DataArray with the dimensions of the cube
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from .program import Words, run
from .scene import Scene, _numbers
from .stages import Stages

LINES = ("y", "lat", "latitude", "line", "lines", "row", "rows", "downtrack")
SAMPLES = ("x", "lon", "longitude", "sample", "samples", "column", "columns", "crosstrack")
BANDS = ("band", "bands", "wavelength", "wavelengths", "wavelength_nm", "component", "channel")


def _dimensions(data: xarray.DataArray) -> tuple[str, str, str]:
    """Its dimensions as line, sample and band."""
    if not isinstance(data, xarray.DataArray):
        raise ValueError(f"scene: a {type(data).__name__}: take one DataArray of it")
    found = [[d for d in data.dims if str(d).lower() in known] for known in (LINES, SAMPLES, BANDS)]
    if data.ndim != 3 or any(len(part) != 1 for part in found):
        raise ValueError(f"scene: dimensions {tuple(data.dims)}: a scene has three, such as (y, x, band)")
    return str(found[0][0]), str(found[1][0]), str(found[2][0])


def _of_band(data: xarray.DataArray, band: str, *names: str) -> Any:
    """A coordinate of the bands by the first of its names."""
    for name in names:
        if name in data.coords and data.coords[name].dims == (band,):
            return data.coords[name]
    return None


def _in_nm(found: Any) -> Any:
    if found is None:
        return None
    unit = str(found.attrs.get("units", "nm")).lower()
    if not unit.startswith(("n", "um", "µm", "μm", "micro")):
        raise ValueError(f"scene: {found.name}: units {unit}, where nm and um are possible")
    return found.values if unit.startswith("n") else _numbers(str(found.name), found.values) * 1000.0


def _steps(data: xarray.DataArray, dimension: str) -> tuple[float, float] | None:
    """Edge of the first pixel and size of pixels along a dimension with regular coordinates."""
    if dimension not in data.coords or data.sizes[dimension] < 2 or data.coords[dimension].dtype.kind not in "iuf":
        return None
    centres = np.asarray(data.coords[dimension].values, float)
    step = (centres[-1] - centres[0]) / (len(centres) - 1)
    even = np.allclose(np.diff(centres), step, rtol=1e-6, atol=0)
    return (centres[0] - step / 2, step) if even and step != 0 else None


def scene_of(data: xarray.DataArray) -> Scene:
    """A scene of an array with dimensions such as (y, x, band), in any order, and coordinates `wavelength`, `fwhm`,
    `good_wavelengths` and `spatial_ref`."""
    line, sample, band = _dimensions(data)
    x, y = _steps(data, sample), _steps(data, line)
    reference = data.coords["spatial_ref"].attrs if "spatial_ref" in data.coords else {}
    good = _of_band(data, band, "good_wavelengths", "good")
    nodata = data.attrs.get("_FillValue", data.encoding.get("_FillValue", data.attrs.get("nodata")))
    return Scene(
        data.transpose(line, sample, band).values,
        _in_nm(_of_band(data, band, "wavelength", "wavelengths", "wavelength_nm")),
        _in_nm(_of_band(data, band, "fwhm", "fwhm_nm")),
        None if good is None else good.values != 0,
        nodata=nodata,
        crs=reference.get("crs_wkt", data.attrs.get("crs_wkt")),
        transform=None if x is None or y is None else (x[0], x[1], 0.0, y[0], 0.0, y[1]),
        fields=data.attrs.get("hcube_fields", {}),
    )


def data_of(scene: Scene, dims: tuple[str, str, str] = ("y", "x", "band")) -> xarray.DataArray:
    """A scene as an array with coordinates, which `scene_of` takes back."""
    line, sample, band = dims
    coords: dict[str, Any] = {}
    if scene.transform is not None:
        x, dx, _, y, _, dy = scene.transform
        coords[sample] = x + dx * (np.arange(scene.values.shape[1]) + 0.5)
        coords[line] = y + dy * (np.arange(scene.values.shape[0]) + 0.5)
    if scene.crs is not None:
        coords["spatial_ref"] = ((), 0, {"crs_wkt": scene.crs})
    of_band = {"wavelength": scene.wavelength_nm, "fwhm": scene.fwhm_nm, "band_name": scene.names or None}
    for name, values in of_band.items():
        if values is not None:
            coords[name] = ((band,), values, {} if name == "band_name" else {"units": "nm"})
    if scene.good is not None:
        coords["good_wavelengths"] = ((band,), scene.good)
    attrs = {} if scene.nodata is None else {"_FillValue": scene.nodata}
    return xarray.DataArray(scene.values, coords, dims, attrs={**attrs, "hcube_fields": scene.fields})


@xarray.register_dataarray_accessor("hcube")  # type: ignore[no-untyped-call,unused-ignore]
class Accessor(Stages[xarray.DataArray]):
    """Stages of hcube as methods of a DataArray: `data.hcube.mnf(components=20)`."""

    def __init__(self, data: xarray.DataArray) -> None:
        self._data = data

    def run(self, words: Words, **options: Any) -> Any:
        """A stage or a chain over the array: the raster that it makes, or the result of one that makes none."""
        scene = scene_of(self._data)
        result = run(words, scene=scene, **options)
        if result.scene is None:
            return result
        dims = _dimensions(self._data)
        if result.scene.values.shape[:2] == scene.values.shape[:2]:
            kept = {d: self._data.coords[d] for d in dims[:2] if d in self._data.coords}
        else:
            kept = {}
        return data_of(result.scene, dims).assign_coords(kept).transpose(*self._data.dims)
