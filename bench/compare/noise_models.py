"""How far each noise model is from noise of a known variance.

    python3 bench/compare/noise_models.py HCUBE SCENE.img... [--snr 20 30 40] [--models mean3x3 regression auto] [--bands 8] [--stripes]

Adds white noise of a fixed seed to each scene (the scene counts as noiseless), runs `hcube cov --noise MODEL`, and prints the
median over the bands of estimated variance / true variance, with the range from the 10th to the 90th percentile. --bands takes
this many bands, evenly spaced. --stripes adds a row for each kind of stripes: each column has an offset of 2 standard deviations of
the noise in each band, or the same in all bands, or gains in each band of 0.31 over the SNR (1 % at 30 dB, 3 % at 20 dB).
"""
import argparse, json, subprocess, tempfile
from pathlib import Path

import numpy as np

from envi import read_envi, write_envi


def estimate(program, scene, model, folder):
    out = folder / "noise.json"
    done = subprocess.run([program, "cov", scene, out, "--noise", model, "--overwrite", "--record", "none", "--progress", "plain"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    found = json.loads(out.read_text())
    n = round(len(found["covariance"]) ** 0.5)
    return np.array(found["covariance"]).reshape(n, n).diagonal(), found["noise"]


def striped(clean, sigma, kind, seed=20):
    draw = np.random.default_rng(seed)
    samples, bands = clean.shape[1:]
    if kind == "gains":
        level = np.sqrt(np.mean(clean**2))
        return clean * (1 + draw.normal(0, 0.31 * sigma / level, (1, samples, bands)))
    width = {"offsets": bands, "common offsets": 1}.get(kind)
    return clean if width is None else clean + draw.normal(0, 2 * sigma, (1, samples, width))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("scenes", nargs="+")
    parser.add_argument("--snr", nargs="+", type=float, default=[20, 30, 40])
    parser.add_argument("--models", nargs="+",
                        default=["regression", "spatial-spectral", "median3x3", "mean3x3", "shift", "shift-diagonal", "auto"])
    parser.add_argument("--bands", type=int)
    parser.add_argument("--stripes", action="store_true")
    options = parser.parse_args()
    print("| scene | " + " | ".join(options.models) + " |\n|---" * 1 + "|---" * len(options.models) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for scene in options.scenes:
            clean = read_envi(scene)
            if options.bands:
                clean = clean[:, :, np.linspace(3, clean.shape[2] - 4, options.bands).astype(int)]
            for snr in options.snr:
                sigma = np.sqrt(np.mean(clean**2) / 10 ** (snr / 10))
                noise = np.random.default_rng(19).normal(0, sigma, clean.shape)
                for kind in ["", "offsets", "common offsets", "gains"] if options.stripes else [""]:
                    path = Path(folder) / "scene.img"
                    write_envi(path, striped(clean, sigma, kind) + noise)
                    cells = []
                    for model in options.models:
                        found, taken = estimate(options.program, path, model, Path(folder))
                        low, middle, high = np.percentile(found / sigma**2, [10, 50, 90])
                        cells.append("%.3g (%.3g to %.3g)%s" % (middle, low, high, ", " + taken if model == "auto" else ""))
                    label = "%s, %g dB" % (Path(scene).stem, snr) + (", " + kind if kind else "")
                    print("| %s | " % label + " | ".join(cells) + " |", flush=True)


main()
