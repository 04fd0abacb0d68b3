"""destripe on scenes with made stripes, whose truth is known: the power of stripes that is left.

    python bench/compare/words/destripe.py HCUBE SCENES [--seeds 1 2 3] [--sizes 0.5 1 2 4]

SCENES is the folder of the four scenes (HCUBE_DATA). Stripes are normal numbers for each column, or line, and band. Kinds: offsets
of columns, whose deviation is SIZE times the noise of the band; gains of columns, of SIZE per cent; both; offsets of lines. A
scene is destriped in both directions before it gets stripes, so that stripes of its own do not count. Errors, output - truth, are
in units of the noise of their band, and the mean of a band over the scene does not count. Two figures: the power of all errors
over that of the stripes, and the same of the steps between neighbouring columns or lines. The last rows of a scene have no
stripes: the root mean square change in units of the noise.

--lines 100 400 1600 takes a generated scene of that many lines instead. --limit prints what a linear estimate leaves that knows,
for each component and each frequency along the columns, the power of the scene and of the stripes: no linear estimate from
the means of columns leaves less. It is not known to hcube, which has to estimate both from the scene.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.fft import dct
from scipy.ndimage import gaussian_filter, gaussian_filter1d, uniform_filter1d

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from envi import read_envi, write_envi  # noqa: E402

SCENES = {"Jasper Ridge": "jasper-ridge/jasper_r198.img", "Samson": "samson/samson.img",
          "Salinas A": "salinas-a/salinas_a.img", "HYDICE Urban": "hydice-urban/hydice_urban.img"}


def destripe(program, work, cube, *words):
    write_envi(work / "in.img", cube)
    run = subprocess.run([program, "destripe", work / "in.img", work / "out.img", "--interleave", "bip", "--overwrite",
                          *words], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return read_envi(work / "out.img")


def noise_of(cube):
    """By a regression of each band on the others, of the differences of lines."""
    steps = (cube[:-1] - cube[1:]).reshape(-1, cube.shape[2])
    steps = steps - steps.mean(0)
    inverse = np.linalg.pinv(steps.T @ steps / len(steps))
    return np.sqrt(1 / np.diag(inverse) / 2)


def stripes_of(kind, cube, noise, size, random):
    lines, samples, bands = cube.shape
    offset = random.normal(size=(1, samples, bands)) * noise * size
    gain = random.normal(size=(1, samples, bands)) * size / 100
    if kind == "lines":
        return random.normal(size=(lines, 1, bands)) * noise * size + 0 * cube
    return {"offsets": offset + 0 * cube, "gains": gain * cube, "both": offset + gain * cube}[kind]


def power(error, noise):
    error = (error - error.mean((0, 1))) / noise
    return (error**2).sum()


def left(program, work, truth, noise, kind, size, seed):
    stripes = stripes_of(kind, truth, noise, size, np.random.default_rng(seed))
    words = ["--direction", "lines"] if kind == "lines" else []
    given = (truth + stripes).astype("f4")
    errors = destripe(program, work, given, *words) - truth, given - truth
    steps = [np.diff(error, axis=0 if kind == "lines" else 1) for error in errors]
    return [power(pair[0], noise) / power(pair[1], noise) for pair in (errors, steps)]


def limit(truth, noise, kind, size):
    """Cosines over the columns: white stripes stay white, and steps between neighbours are a factor of each frequency."""
    cube = (truth.transpose(1, 0, 2) if kind == "lines" else truth) / noise
    level = cube.mean(0)
    strength = (size / 100 * np.abs(level.mean(0)))**2 + 1e-9 if kind == "gains" else np.full(level.shape[1], size**2)
    strength = strength + (size / 100 * level.mean(0))**2 if kind == "both" else strength
    waves = dct((level - level.mean(0)) / np.sqrt(strength), axis=0, norm="ortho")[1:]
    steps = 2 - 2 * np.cos(np.pi * np.arange(1, len(level)) / len(level))[:, None]
    vectors = np.linalg.eigh((waves * steps).T @ waves)[1]
    power = uniform_filter1d((waves @ vectors)**2, 9, axis=0)
    error = power / (1 + power) @ (vectors**2).T * strength
    return error.mean() / strength.mean(), (error * steps).mean() / strength.mean() / steps.mean()


def generated(lines, samples=80, bands=60):
    """Four materials in patches of some 8 pixels, brightness, and noise of 1."""
    random = np.random.default_rng(lines)
    share = gaussian_filter(random.normal(size=(lines, samples, 4)), (8, 8, 0))
    spectra = 1 + gaussian_filter1d(random.normal(size=(4, bands)), 8, axis=1)
    return 400 + 2000 * (share @ spectra) + random.normal(size=(lines, samples, bands))


def print_rows(options, work, name, truth):
    noise = noise_of(truth)
    for kind in ("offsets", "gains", "both", "lines"):
        values = [np.mean([left(options.hcube, work, truth, noise, kind, size, seed) for seed in options.seeds], 0)
                  if not options.limit else limit(truth, noise, kind, size) for size in options.sizes]
        print(f"{name:14}", f"{kind:8}", *(f"{100 * value:6.1f}, {100 * step:.1f} %" for value, step in values),
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hcube", type=Path)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.5, 1, 2, 4])
    parser.add_argument("--lines", type=int, nargs="+", default=[])
    parser.add_argument("--limit", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for lines in options.lines:
            print_rows(options, work, f"{lines} lines", generated(lines))
        for name, path in (SCENES if not options.lines else {}).items():
            truth = destripe(options.hcube, work, read_envi(options.scenes / path))
            truth = destripe(options.hcube, work, truth, "--direction", "lines")
            noise = noise_of(truth)
            print_rows(options, work, name, truth)
            for words in ([], ["--direction", "lines"]):
                change = (destripe(options.hcube, work, truth, *words) - truth) / noise
                print(f"{name:14}", f"none     {np.sqrt((change**2).mean()):.3f} of the noise",
                      f"(largest {np.abs(change).max():.3f})", *words, flush=True)


if __name__ == "__main__":
    main()
