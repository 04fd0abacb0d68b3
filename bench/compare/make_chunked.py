"""Makes netCDF 4 files of a bench scene (ENVI BIL of uint16), with h5py:

    make_chunked.py cube SCENE.img LINES SAMPLES BANDS OUT.nc
    make_chunked.py granule SCENE.img LINES SAMPLES BANDS OUT.nc PACKED.nc OUT.img

cube: float32 (band, line, sample), deflate and shuffle, chunks of 27 x 32 x 38.

granule: laid out as an EMIT L2A reflectance granule, float32 (line, sample, band), with a lookup table to a map that is
turned. OUT.nc has its values in one piece, as the mission's converter writes them (emit-sds-l2a, output_conversion.py:
no compression). PACKED.nc has what netCDF-C makes of such an array with zlib=True: shuffle, deflate, about a fifth of each
axis in a chunk (256 x 249 x 57 of 1280 x 1242 x 285). OUT.img has the same values as ENVI BIL.
"""
import math
import sys

import h5py
import numpy as np

ANGLE = 0.35  # between the track and south
SPACING = 0.000542232520256  # degrees, of EMIT's maps
WGS84 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],'
    'UNIT["degree",0.0174532925199433]]'
)
CHUNK_BYTES = 16 << 20  # of netCDF-C, unless a program asks for others


def wavelengths(bands):
    return np.linspace(381, 2493, bands)


def dimensions(file, names, sizes):
    for name, size in zip(names, sizes):
        file.create_dataset(name, data=np.arange(size, dtype="i4")).make_scale(name)


def dataset(file, path, shape, dtype, axes, **options):
    made = file.create_dataset(path, shape=shape, dtype=dtype, **options)
    for axis, name in enumerate(axes):
        made.dims[axis].attach_scale(file[name])
    return made


def make_cube(scene, out):
    lines, bands, samples = scene.shape
    with h5py.File(out, "w") as file:
        dimensions(file, ("band", "y", "x"), (bands, lines, samples))
        chunks = (min(27, bands), min(32, lines), min(38, samples))
        cube = dataset(file, "cube", (bands, lines, samples), "f4", ("band", "y", "x"), chunks=chunks,
                       compression="gzip", compression_opts=4, shuffle=True)
        for band in range(0, bands, chunks[0]):
            cube[band : band + chunks[0]] = scene[:, band : band + chunks[0]].transpose(1, 0, 2) / np.float32(1e4)


def lookup(lines, samples):
    """The table of the map: sample and line from 1, 0 = none."""
    c, s = math.cos(ANGLE), math.sin(ANGLE)
    x = [c * p - s * l for l in (0, lines - 1) for p in (0, samples - 1)]
    y = [s * p + c * l for l in (0, lines - 1) for p in (0, samples - 1)]
    map_y, map_x = np.mgrid[math.floor(min(y)) : math.ceil(max(y)) + 1, math.floor(min(x)) : math.ceil(max(x)) + 1]
    sample = np.rint(c * map_x + s * map_y).astype("i4")
    line = np.rint(c * map_y - s * map_x).astype("i4")
    there = (sample >= 0) & (sample < samples) & (line >= 0) & (line < lines)
    return np.where(there, sample + 1, 0), np.where(there, line + 1, 0)


def usual_chunks(shape, each):
    """Chunks of netCDF-C: the same share of each axis, and the last one of an axis as long as the others."""
    share = (CHUNK_BYTES / (math.prod(shape) * each)) ** (1 / len(shape))
    chunks = []
    for size in shape:
        chunk = min(size, max(1, int(share * size - 0.5)))
        count = -(-size // chunk)
        chunks.append(chunk - (count * chunk - size) // count)
    return tuple(chunks)


def write_granule(out, scene, chunks):
    lines, bands, samples = scene.shape
    glt_x, glt_y = lookup(lines, samples)
    axes = ("downtrack", "crosstrack", "bands")
    packing = {"chunks": chunks, "compression": "gzip", "compression_opts": 4, "shuffle": True} if chunks else {}
    step = chunks[0] if chunks else 64
    with h5py.File(out, "w") as file:
        dimensions(file, axes + ("ortho_y", "ortho_x"), (lines, samples, bands) + glt_x.shape)
        cube = dataset(file, "reflectance", (lines, samples, bands), "f4", axes, fillvalue=-9999, **packing)
        cube.attrs["_FillValue"] = np.float32(-9999)
        for line in range(0, lines, step):
            cube[line : line + step] = (scene[line : line + step] / np.float32(2e4)).transpose(0, 2, 1)
        group = "sensor_band_parameters/"
        for name, values in (("wavelengths", wavelengths(bands)), ("fwhm", np.full(bands, 8.5)),
                             ("good_wavelengths", np.ones(bands))):
            dataset(file, group + name, (bands,), "f4", ("bands",))[:] = values
        for name, values in (("glt_x", glt_x), ("glt_y", glt_y)):
            dataset(file, "location/" + name, values.shape, "i4", ("ortho_y", "ortho_x"))[:] = values
        file.attrs["geotransform"] = np.array([12.62, SPACING, 0, 50.22, 0, -SPACING])
        file.attrs["spatial_ref"] = WGS84


def make_granule(scene, out, packed, envi):
    lines, bands, samples = scene.shape
    write_granule(out, scene, None)
    write_granule(packed, scene, usual_chunks((lines, samples, bands), 4))
    with open(envi, "wb") as flat:
        for line in range(lines):
            (scene[line] / np.float32(2e4)).tofile(flat)
    with open(envi.removesuffix(".img") + ".hdr", "w", encoding="ascii") as header:
        header.write(
            f"ENVI\nsamples = {samples}\nlines = {lines}\nbands = {bands}\nheader offset = 0\n"
            "file type = ENVI Standard\ndata type = 4\ninterleave = bil\nbyte order = 0\n"
            "data ignore value = -9999\nwavelength units = nanometers\n"
            f"wavelength = {{{', '.join(f'{w:.4f}' for w in wavelengths(bands))}}}\n"
        )


def main():
    kind, path = sys.argv[1], sys.argv[2]
    lines, samples, bands = (int(word) for word in sys.argv[3:6])
    scene = np.memmap(path, dtype="<u2", mode="r", shape=(lines, bands, samples))
    if kind == "cube":
        make_cube(scene, sys.argv[6])
    else:
        make_granule(scene, *sys.argv[6:9])


main()
