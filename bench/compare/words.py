"""How close continuum, index, smooth, resample, identify and library come to their references: one table.

    python3 bench/compare/words.py HCUBE SCENES [--spyndex FOLDER] [--cramm FOLDER] [--spectra FOLDER] [--only WORD]

HCUBE is the program, SCENES the folder of Jasper Ridge and Samson (HCUBE_DATA). A third scene is generated in the shape of EMIT.
Needs NumPy, SciPy, spectral 0.25, pyrsr 0.8.0, hyperproc 0.1.2 and spyndex 0.12 of PyPI, and CRAMM 1.5 (the folder in which its
package lies; the default is that of this Python). --spectra names real files of spectra, with which `library import` is compared;
words/library.py says which, and what it needs. A word whose reference is not installed gives a row that says so, and exit code
1. The scripts in words/ say what each row compares.
"""
import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "words")]


def folder_of(package):
    found = importlib.util.find_spec(package)
    return Path(found.submodule_search_locations[0]) if found else None


def emit_shape(folder):
    import numpy as np
    from smooth import emit_like, write_scene

    numbers = np.arange(285)
    numbers[128:] += 10
    numbers[195:] += 20
    return write_scene(folder, emit_like(), numbers)


def commands(options, folder):
    """The arguments of each word's script."""
    spyndex = options.spyndex or folder_of("spyndex")
    cramm = options.cramm or (folder_of("cramm").parent if folder_of("cramm") else None)
    given = {"continuum": [options.hcube, options.scenes, emit_shape(folder)],
             "index": [options.hcube, spyndex, options.scenes, folder],
             "smooth": [options.hcube, options.scenes, folder],
             "resample": [options.hcube, options.scenes, folder],
             "identify": [options.hcube, cramm, options.scenes],
             "library": [options.hcube, options.spectra]}
    return {word: words for word, words in given.items() if options.only in (None, word)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hcube", type=Path)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--spyndex", type=Path)
    parser.add_argument("--cramm", type=Path)
    parser.add_argument("--spectra", type=Path)
    parser.add_argument("--only", metavar="WORD")
    options = parser.parse_args()
    options.hcube, options.scenes = options.hcube.resolve(), options.scenes.resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for word, words in commands(options, Path(folder)).items():
            run = None
            if None not in words:
                run = subprocess.run([sys.executable, HERE / "words" / f"{word}.py", *map(str, words)], text=True, capture_output=True)
            if run is None or run.returncode != 0:
                failed = 1
                reason = "its reference or files are not there" if run is None else run.stderr.strip().splitlines()[-1:]
                print(f"{word:10}not compared: {reason}", flush=True)
                continue
            for line in run.stdout.strip().splitlines():
                cells = re.split(r" *\| *|\t|  +", line.strip().strip("| "))
                widths = (10, 50, 9, 34, 10)
                print("".join(f"{cell:{width}}" for cell, width in zip(cells, widths)) + "  ".join(cells[len(widths):]), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
