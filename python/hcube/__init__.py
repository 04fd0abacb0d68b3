"""hcube from Python: runs chains of the program, and reads its files as NumPy arrays and dicts.

    import hcube

    result = hcube.run("read scene.hdr ! mnf --components 5 ! write mnf.img")
    result.array()                             # [line][sample][component], mapped from the file
    result.record["steps"][1]["result"]["eigenvalues"]

The package starts the program `hcube` of the path, or the one that the environment variable HCUBE_PROGRAM names.
docs/python.md of hcube is its page.
"""

from .envi import FileError, read_header, read_raster
from .files import Library, Model, Statistics, Sums, Table
from .files import read_library, read_model, read_record, read_statistics, read_sums, read_table
from .program import Error, Result, Run, info, map_blocks, program, run, start, version
from .scene import Scene, empty, read_scene

__all__ = [
    "Error",
    "FileError",
    "Library",
    "Model",
    "Result",
    "Run",
    "Scene",
    "Statistics",
    "Sums",
    "Table",
    "empty",
    "info",
    "map_blocks",
    "program",
    "read_header",
    "read_library",
    "read_model",
    "read_raster",
    "read_record",
    "read_scene",
    "read_statistics",
    "read_sums",
    "read_table",
    "run",
    "start",
    "version",
]
