"""Written by scripts/python-types from `hcube --json-usage`."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar

from typing_extensions import Unpack

from .program import Result, Words

Raster = TypeVar("Raster")
Word = str | float | os.PathLike[str]

class Shared(TypedDict, total=False):
    window: Word | None
    bbox: Word | None
    bbox_crs: Word | None
    cutline: Word | None
    mask: Word | Sequence[Word] | None
    mask_inside: Word | Sequence[Word] | None
    by_pixels: bool | None
    quality: Literal["usual", "none", "require"] | None
    metadata: Literal["require", "any"] | None
    ignore_mask: bool | None
    all_bands: bool | None
    source_nodata: Word | None
    nodata_rule: Literal["any", "all"] | None
    source_scale: Literal["keep", "apply"] | None
    wavelength_unit: Literal["nm", "um"] | None
    overlap: Literal["vnir", "swir", "both"] | None
    sort: bool | None
    allow_external: bool | None
    no_direct: bool | None
    read_threads: int | None
    format: Word | None
    type: Literal["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"] | None
    scale: float | None
    offset: float | None
    interleave: Word | None
    compress: Literal["none", "deflate", "zstd", "lzw"] | None
    co: Word | Sequence[Word] | None
    nodata: Word | None
    qml: bool | None
    no_qml: bool | None
    ortho: Word | None
    stac: bool | None
    stac_collection: Word | None
    stac_from: Word | None
    overwrite: bool | None
    write_threads: int | None
    device: Word | None
    threads: int | None
    ranks: int | None
    memory: Word | None
    device_memory: Word | None
    quiet: bool | None
    progress: Literal["auto", "bar", "plain", "json", "none"] | None
    record: Word | None
    report: Word | None
    verify: int | None
    verify_seed: int | None
    scratch: Word | None
    scratch_space: Word | None
    set: Mapping[str, Word]

class Stages(Generic[Raster]):
    def run(self, words: Words, **options: Any) -> Raster | Result: ...
    def bands(self, _keep: Word = ..., /, *, keep: Word | None = ..., drop: Word | None = ...,
        wavelength: Word | None = ..., drop_wavelength: Word | None = ..., good: bool | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def reflectance(self, *, dark: Word | Sequence[Word] | None = ..., white: Word | None = ...,
        white_dark: Word | None = ..., panel: Word | None = ..., exposure: Literal["auto", "none"] | None = ...,
        saturation: float | None = ..., empirical: Word | None = ..., spectra: Word | None = ...,
        field: Word | None = ..., layer: Word | None = ..., fit: Literal["least-squares", "robust"] | None = ...,
        picture: Word | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def destripe(self, *, direction: Literal["columns", "lines"] | None = ...,
        gains: Literal["auto", "none"] | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def filter(self, _kind: Literal["mean3x3", "median3x3", "shift", "shift-diagonal", "majority"] = ..., /, *,
        kind: Literal["mean3x3", "median3x3", "shift", "shift-diagonal", "majority"] | None = ...,
        side: int | None = ..., noise: bool | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def smooth(self, *, points: int | None = ..., order: int | None = ..., derivative: int | None = ...,
        normalise: Literal["snv", "brightness", "area"] | None = ..., gap: float | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def resample(self, *, like: Word | None = ..., wavelengths: Word | None = ..., responses: Word | None = ...,
        method: Literal["gaussian", "box"] | None = ..., coverage: float | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def cov(self, _output: Word, /, *,
        noise: Literal["mean3x3", "median3x3", "shift", "shift-diagonal", "shift-lower", "shift-lowerleft", "shift-mean", "hv-average", "quad", "trimmed", "regression", "spatial-spectral", "spatial-spectral-lower", "auto"] | None = ...,
        noise_matrix: Literal["full", "diagonal"] | None = ..., noise_window: Word | None = ...,
        by: Word | Sequence[Word] | None = ..., field: Word | None = ..., layer: Word | None = ...,
        sums: bool | None = ..., **options: Unpack[Shared]) -> Result: ...
    def noise(self, _output: Word = ..., /, *, output: Word | None = ..., csv: Word | None = ...,
        picture: Word | None = ...,
        compare: Literal["mean3x3", "median3x3", "shift", "shift-diagonal", "shift-lower", "shift-lowerleft", "shift-mean", "hv-average", "quad", "trimmed"] | None = ...,
        by: Word | Sequence[Word] | None = ..., columns: int | None = ..., column_csv: Word | None = ...,
        **options: Unpack[Shared]) -> Result: ...
    def dimension(self, _output: Word = ..., /, *, output: Word | None = ..., false_alarm: Word | None = ...,
        **options: Unpack[Shared]) -> Result: ...
    def pca(self, *, components: Word | None = ..., min_eigenvalue: float | None = ..., keep_all: bool | None = ...,
        denoise: bool | None = ..., inverse: bool | None = ..., fit_only: bool | None = ..., model: Word | None = ...,
        save_model: Word | None = ..., correlation: bool | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def mnf(self, *, components: Word | None = ..., min_eigenvalue: float | None = ..., keep_all: bool | None = ...,
        denoise: bool | None = ..., inverse: bool | None = ..., fit_only: bool | None = ..., model: Word | None = ...,
        save_model: Word | None = ..., noise: Word | None = ..., noise_matrix: Literal["full", "diagonal"] | None = ...,
        noise_window: Word | None = ..., dark: Word | None = ..., by: Word | Sequence[Word] | None = ...,
        singular: Literal["drop", "stop"] | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def denoise(self, *, method: Literal["groups", "patches", "subspace"] | None = ..., noise: Word | None = ...,
        components: Word | None = ..., side: int | None = ..., step: int | None = ..., sigma_map: bool | None = ...,
        stripes: bool | None = ..., by: Word | Sequence[Word] | None = ..., columns: int | None = ...,
        require_gain: float | None = ..., fit_only: bool | None = ..., model: Word | None = ...,
        save_model: Word | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def svd(self, *, side: int | None = ..., step: int | None = ..., tiled: bool | None = ..., keep: Word | None = ...,
        noise: Word | None = ..., output: Literal["denoised", "dimension"] | None = ..., values: int | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def endmembers(self, _output: Word, /, *, csv: Word | None = ..., places: Word | None = ...,
        picture: Word | None = ..., count: Word | None = ...,
        method: Literal["vca", "nfindr", "atgp", "ppi", "sisal"] | None = ..., seed: int | None = ...,
        starts: int | None = ..., skewers: int | None = ..., spatial: int | None = ..., similar: float | None = ...,
        denoise: bool | None = ..., **options: Unpack[Shared]) -> Result: ...
    def extract(self, _output: Word, /, *, csv: Word | None = ..., places: Word | None = ...,
        picture: Word | None = ..., labels: Word | None = ..., pixel: Word | Sequence[Word] | None = ...,
        at: Word | Sequence[Word] | None = ..., area: Word | None = ..., field: Word | None = ...,
        layer: Word | None = ..., attributes: Word | None = ...,
        each: Literal["class", "polygon", "pixel"] | None = ..., statistics: Word | None = ...,
        **options: Unpack[Shared]) -> Result: ...
    def knn(self, *, k: int | None = ..., vote: Literal["majority", "distance"] | None = ...,
        metric: Literal["euclidean", "angle"] | None = ..., reject: float | None = ..., confidence: bool | None = ...,
        distance: bool | None = ..., neighbours: bool | None = ..., training: Word | None = ...,
        field: Word | None = ..., field_number: Word | None = ..., layer: Word | None = ...,
        skip_empty: bool | None = ..., spectra: Word | None = ..., all_spectra: bool | None = ...,
        validation: Word | None = ..., validation_field: Word | None = ..., validation_layer: Word | None = ...,
        split: float | None = ..., split_by: Literal["pixel", "polygon"] | None = ..., seed: int | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def classify(self, *, method: Literal["lda", "ml", "distance", "sam", "sid", "svm"] | None = ...,
        shrink: Word | None = ..., priors: Word | None = ..., kernel: Literal["rbf", "linear"] | None = ...,
        cost: Word | None = ..., gamma: Word | None = ..., reject: float | None = ..., distance: bool | None = ...,
        confidence: bool | None = ..., rules: bool | None = ..., training: Word | None = ..., field: Word | None = ...,
        field_number: Word | None = ..., layer: Word | None = ..., skip_empty: bool | None = ...,
        spectra: Word | None = ..., all_spectra: bool | None = ..., validation: Word | None = ...,
        validation_field: Word | None = ..., validation_layer: Word | None = ..., split: float | None = ...,
        split_by: Literal["pixel", "polygon"] | None = ..., seed: int | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def kmeans(self, *, clusters: int | None = ..., iterations: int | None = ..., tolerance: float | None = ...,
        seed: int | None = ..., distance: bool | None = ..., centres: Word | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def identify(self, *, library: Word | None = ..., spectra: Word | None = ..., all_spectra: bool | None = ...,
        method: Literal["angle", "features", "rules"] | None = ..., rules: Word | None = ..., top: int | None = ...,
        rank: Literal["fit", "product"] | None = ..., min_fit: float | None = ..., min_depth: float | None = ...,
        max_angle: float | None = ..., rejected: bool | None = ..., picture: Word | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def unmix(self, *, library: Word | None = ..., spectra: Word | None = ..., all_spectra: bool | None = ...,
        lambda_: Word | None = ..., noise_map: Word | None = ..., sum_to_one: bool | None = ...,
        weights: Word | None = ..., solver: Literal["active", "fista", "alm"] | None = ..., gap: float | None = ...,
        iterations: int | None = ..., top: int | None = ..., threshold: float | None = ..., add: Word | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def abundance(self, *, endmembers: Word | None = ..., spectra: Word | None = ..., all_spectra: bool | None = ...,
        sum: Literal["free", "one", "at-most-one", "shares"] | None = ..., norm: Literal["l1", "l2"] | None = ...,
        weights: Word | None = ..., residual: bool | None = ..., status: bool | None = ..., pivots: bool | None = ...,
        **options: Unpack[Shared]) -> Raster: ...
    def rx(self, *, side: int | None = ..., guard: int | None = ..., background: Word | None = ...,
        by: Word | Sequence[Word] | None = ..., field: Word | None = ..., layer: Word | None = ...,
        robust: float | None = ..., shrink: Word | None = ..., rates: Literal["gaussian", "rank", "both"] | None = ...,
        detections: Word | None = ..., top: int | None = ..., threshold: float | None = ...,
        false_alarm: float | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def detect(self, *, method: Literal["mf", "cem", "ace", "amf", "osp", "sam", "sid", "mtmf"] | None = ...,
        targets: Word | None = ..., spectra: Word | None = ..., all_spectra: bool | None = ...,
        target_at: Word | Sequence[Word] | None = ..., absorption: bool | None = ..., background: Word | None = ...,
        by: Word | Sequence[Word] | None = ..., field: Word | None = ..., layer: Word | None = ...,
        robust: float | None = ..., shrink: Word | None = ..., rates: Literal["gaussian", "rank", "both"] | None = ...,
        detections: Word | None = ..., top: int | None = ..., threshold: float | None = ...,
        false_alarm: float | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def continuum(self, *, output: Literal["removed", "depth", "hull"] | None = ..., range: Word | None = ...,
        gap: float | None = ..., features: bool | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def index(self, _formulas: Word, /, *, constants: Word | None = ..., reflectance_one: float | None = ...,
        list: bool | None = ..., **options: Unpack[Shared]) -> Raster: ...
    def write(self, **options: Unpack[Shared]) -> Raster: ...
    def figure(self, _output: Word, /, *, bands: Word | None = ..., wavelengths: Word | None = ...,
        each: Word | None = ..., one_scale: bool | None = ..., percentiles: Word | None = ...,
        limits: Word | None = ..., gamma: float | None = ...,
        colours: Literal["viridis", "grey", "batlow", "vik"] | None = ..., title: Word | None = ...,
        width: float | None = ..., dpi: float | None = ..., size: int | None = ...,
        **options: Unpack[Shared]) -> Result: ...
    def preview(self, _output: Word, /, *, bands: Word | None = ..., wavelengths: Word | None = ...,
        percentiles: Word | None = ..., limits: Word | None = ..., threshold: float | None = ...,
        over: Word | None = ..., opacity: float | None = ..., gamma: float | None = ...,
        colours: Literal["viridis", "grey", "batlow", "vik"] | None = ...,
        legend: Literal["none", "right", "below"] | None = ..., size: int | None = ..., enlarge: int | None = ...,
        scree: Word | None = ..., **options: Unpack[Shared]) -> Result: ...
