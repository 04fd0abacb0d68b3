"""Small scenes of every format that is read, and small files of every other kind: 20 lines x 24 samples x 6 bands, or the
least that a format can hold. What gdal_translate cannot write on this machine is left out."""
import json
import os
import pathlib
import shutil
import subprocess

SCENE = ["run", "read", "SCENE", "!", "write", "out/o.img", "--threads", "2", "--device", "cpu", "--memory", "300M",
         "--record", "none", "--quiet"]
COMMON = ["--threads", "2", "--device", "cpu", "--memory", "300M", "--record", "none", "--quiet"]
RGB = ["-b", "1", "-b", "2", "-b", "3", "-ot", "Byte", "-scale"]
TILES = ["-co", "TILED=YES", "-co", "BLOCKXSIZE=16", "-co", "BLOCKYSIZE=16"]

# name -> (driver, file, options of gdal_translate)
RASTERS = {
    "envi-bsq": ("ENVI", "s.img", []),
    "envi-bil": ("ENVI", "s.bil", ["-co", "INTERLEAVE=BIL"]),
    "envi-bip": ("ENVI", "s.bip", ["-co", "INTERLEAVE=BIP"]),
    "tiff-strips": ("GTiff", "s.tif", ["-co", "INTERLEAVE=PIXEL"]),
    "tiff-bands": ("GTiff", "s.tif", ["-co", "INTERLEAVE=BAND", "-co", "ENDIANNESS=BIG"]),
    "tiff-deflate": ("GTiff", "s.tif", [*TILES, "-co", "COMPRESS=DEFLATE", "-co", "PREDICTOR=2"]),
    "tiff-lzw": ("GTiff", "s.tif", [*TILES, "-co", "COMPRESS=LZW", "-co", "INTERLEAVE=BAND"]),
    "tiff-zstd": ("GTiff", "s.tif", ["-co", "COMPRESS=ZSTD", "-co", "BIGTIFF=YES"]),
    "tiff-lerc": ("GTiff", "s.tif", ["-co", "COMPRESS=LERC"]),
    "cog": ("COG", "s.tif", []),
    "hfa": ("HFA", "s.img", []),
    "hfa-packed": ("HFA", "s.img", ["-co", "COMPRESSED=YES"]),
    "pcidsk": ("PCIDSK", "s.pix", []),
    "nitf": ("NITF", "s.ntf", []),
    "ers": ("ERS", "s.ers", []),
    "fits": ("FITS", "s.fits", []),
    "png": ("PNG", "s.png", RGB),
    "jpeg": ("JPEG", "s.jpg", RGB),
    "jp2": ("JP2OpenJPEG", "s.jp2", ["-co", "QUALITY=100", "-co", "REVERSIBLE=YES"]),
    "gpkg-tiles": ("GPKG", "s.gpkg", RGB),
    "netcdf3": ("netCDF", "s.nc", ["-b", "1", "-co", "FORMAT=NC"]),
    "netcdf4": ("netCDF", "s.nc", ["-b", "1", "-co", "FORMAT=NC4C"]),
    "hdf4": ("HDF4Image", "s.hdf", []),
    "vicar": ("VICAR", "s.vic", ["-ot", "Int16"]),
    "vrt": ("VRT", "s.vrt", []),
}


class Input:
    """files: the names in the input's folder, the first of them most often mutated; words: a command that reads it whole;
    other: the same in another way, with the same outcome; info: a command that only describes it."""

    def __init__(self, folder, files, words, other=None, info=None):
        self.folder, self.files, self.words, self.other, self.info = folder, files, words, other, info


def scene(folder, files, name, *more):
    """An input that is read as a scene: directly or by chunks, and by GDAL."""
    words = [f"in/{name}" if word == "SCENE" else word for word in SCENE]
    at = words.index("!")
    return Input(folder, files, words[:at] + [*more] + words[at:], words[:at] + [*more, "--no-direct"] + words[at:],
                 ["info", f"in/{name}", "--bands"])


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def plain(folder, hcube, sample):
    """The scene that all rasters are copies of."""
    source = folder / "source.tif"
    run(hcube, "run", "read", sample / "scene.hdr", "--window", "36,40,24,20", "!", "bands", "--keep", "1,11,22,33,44,55",
        "!", "write", source, "--type", "uint16", "--record", "none", "--quiet", "--overwrite")
    return source


def rasters(folder, hcube, sample, wanted):
    found = {}
    tool = shutil.which("gdal_translate")
    names = [name for name in RASTERS if tool and wanted(name)]
    source = plain(folder, hcube, sample) if names else None
    for name in names:
        driver, file, options = RASTERS[name]
        place = folder / name
        place.mkdir()
        source_of = source
        if driver == "VRT":
            source_of = shutil.copy(source, place / "source.tif")
        done = subprocess.run([tool, "-q", "-of", driver, *options, source_of, place / file], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            files = sorted(path.name for path in place.iterdir() if not path.name.endswith(".aux.xml"))
            # Of two files the header is the first one.
            files.sort(key=lambda each: not each.endswith((".hdr", ".ers", ".vrt")))
            found[name] = scene(place, files, file)
    return found


def granules(folder, sample, more, wanted):
    """netCDF 4 and HDF5 of real layouts: EMIT with its masks, and what lies in HCUBE_GRANULES."""
    files = {"emit": [next(sample.glob("EMIT_L2A_RFL_*.nc")), next(sample.glob("EMIT_L2A_MASK_*.nc"))]}
    if more:
        patterns = {"emit-crop": "wiser-emit-crop/*.nc", "emit-fake": "gdal-fake-emit/fake_EMIT_L2A.nc",
                    "pace-fake": "gdal-fake-emit/fake_PACE_OCI.nc", "hico": "hico-pace-snap-lists/H*.nc",
                    "prisma": "prisma-real-lists/PRS_L2D*.he5", "neon": "neonhs-ex/ex.h5",
                    "desis": "desis-stac-layout/*.*[!t]"}
        files |= {name: sorted(pathlib.Path(more).glob(pattern)) for name, pattern in patterns.items()}
    found = {}
    for name, paths in files.items():
        if not wanted(name):
            continue
        place = folder / name
        place.mkdir()
        paths = [path for path in paths if path.stat().st_size < 1 << 20]
        for path in paths:
            shutil.copy(path, place / path.name)
            (place / path.name).chmod(0o644)
        if paths:
            first = next((path for path in paths if path.suffix == ".tif"), paths[0])
            found[name] = scene(place, [path.name for path in paths], first.name)
    return found


def data(folder, more, wanted):
    """Real headers with little data, and real libraries, of HCUBE_DATA."""
    patterns = {"envi-class-real": "envi-corpus/class-uint16-bip/*", "envi-obs": "envi-corpus/av3-obs/*",
                "envi-rotated": "envi-corpus/gdal-rotation/*", "envi-stat": "envi-corpus/gdal-envistat/*",
                "envi-fwhm": "envi-corpus/qps-envi-wl-fwhm/*", "sli-real": "envi-corpus/qps-speclib/*",
                "sli-jasper": "jasper-ridge/jasper_endmembers.*"}
    found = {}
    for name, pattern in patterns.items() if more else ():
        paths = sorted(pathlib.Path(more).glob(pattern))
        if not paths or not wanted(name):
            continue
        place = folder / name
        place.mkdir()
        for path in paths:
            shutil.copyfile(path, place / path.name)
        header = next(path.name for path in paths if path.suffix == ".hdr")
        found[name] = scene(place, [header, *(path.name for path in paths if path.name != header)], header)
        if name.startswith("sli"):
            found[name].words, found[name].other, found[name].info = found[name].info, None, None
    return found


OTHERS = ("sli", "csv", "gpkg", "geojson", "model", "statistics", "record", "training-class")


def others(folder, hcube, sample, wanted):
    """Libraries, training data, models, records, polygons. Each command also reads the scene beside it."""
    if not any(map(wanted, OTHERS)):
        return {}
    place = folder / "others"
    place.mkdir()
    for name in ("endmembers.hdr", "endmembers.sli", "endmembers.csv", "training.gpkg", "class.hdr", "class.img"):
        shutil.copy(sample / name, place / name)
    for ending in ("hdr", "img"):
        shutil.copy(sample / f"scene.{ending}", place / f"scene.{ending}")
    run(hcube, "read", sample / "scene.hdr", place / "part.img", "--window", "36,40,24,20", "--type", "uint16", *COMMON)
    run(hcube, "mnf", place / "part.img", place / "o.img", "--components", "3", "--save-model", place / "model.json", *COMMON)
    run(hcube, "cov", place / "part.img", place / "cov.json", "--noise", "shift", *COMMON)
    words = ["bands", "in/part.hdr", "out/o.img", "--keep", "1-3", *COMMON]
    (place / "run.hcube.json").write_text(json.dumps({"hcube_record": 1, "command": "hcube", "arguments": words,
                                                      "folder": "."}))
    corners = [[12.63, 50.19], [12.65, 50.19], [12.64, 50.21], [12.63, 50.19]]
    (place / "area.geojson").write_text(json.dumps(
        {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"class": 1, "name": "a"},
                                                    "geometry": {"type": "Polygon", "coordinates": [corners]}}]}))
    (place / "mnf.hcube").write_text("mnf --components 3\nfilter median3x3\n")
    library = ["in/part.hdr", "out/o.img", "--library"]
    found = {
        "sli": Input(place, ["endmembers.hdr", "endmembers.sli"], ["unmix", *library, "in/endmembers.hdr", *COMMON],
                     info=["info", "in/endmembers.hdr"]),
        "csv": Input(place, ["endmembers.csv"], ["unmix", *library, "in/endmembers.csv", *COMMON],
                     info=["info", "in/endmembers.csv"]),
        "gpkg": Input(place, ["training.gpkg"],
                      ["knn", "in/scene.hdr", "out/o.img", "--training", "in/training.gpkg", "--layer", "training", "--field",
                       "class_id", *COMMON],
                      info=["extract", "in/scene.hdr", "out/o.csv", "--labels", "in/training.gpkg", "--layer", "validation",
                            "--field", "class_name", "--places", "out/p.gpkg", "--attributes", "all", *COMMON]),
        "geojson": Input(place, ["area.geojson"], ["read", "in/scene.hdr", "out/o.img", "--cutline", "in/area.geojson", *COMMON]),
        "model": Input(place, ["model.json"], ["mnf", "in/part.hdr", "out/o.img", "--model", "in/model.json", *COMMON]),
        "statistics": Input(place, ["cov.json"], ["mnf", "in/part.hdr", "out/o.img", "--noise", "in/cov.json", *COMMON]),
        "record": Input(place, ["run.hcube.json"], ["rerun", "in/run.hcube.json", "--changed-inputs", "--quiet"]),
        "training-class": Input(place, ["class.hdr", "class.img"], ["knn", "in/scene.hdr", "out/o.img", "--training",
                                                                    "in/class.hdr", *COMMON], info=["info", "in/class.hdr"]),
    }
    return {name: found[name] for name in OTHERS if wanted(name)}


def prepare(folder, hcube, sample, wanted=lambda name: True):
    """Makes the inputs that are wanted in the folder, which is emptied: name -> Input."""
    folder, sample = pathlib.Path(folder).resolve(), pathlib.Path(sample).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    more = os.environ.get
    return {**rasters(folder, hcube, sample, wanted), **granules(folder, sample, more("HCUBE_GRANULES"), wanted),
            **data(folder, more("HCUBE_DATA"), wanted), **others(folder, hcube, sample, wanted)}
