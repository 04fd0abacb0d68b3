"""How far each noise model is from noise of a known variance.

    python3 bench/compare/noise_models.py HCUBE SCENE.img... [--snr 20 30 40] [--models mean3x3 regression auto] [--bands 8]

Adds white noise of a fixed seed to each scene (the scene counts as noiseless), runs `hcube cov --noise MODEL`, and prints the
median over the bands of estimated variance / true variance, with the range from the 10th to the 90th percentile. --bands takes
this many bands, evenly spaced.
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("scenes", nargs="+")
    parser.add_argument("--snr", nargs="+", type=float, default=[20, 30, 40])
    parser.add_argument("--models", nargs="+",
                        default=["regression", "spatial-spectral", "median3x3", "mean3x3", "shift", "shift-diagonal", "auto"])
    parser.add_argument("--bands", type=int)
    options = parser.parse_args()
    print("| scene | " + " | ".join(options.models) + " |\n|---" * 1 + "|---" * len(options.models) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for scene in options.scenes:
            clean = read_envi(scene)
            if options.bands:
                clean = clean[:, :, np.linspace(3, clean.shape[2] - 4, options.bands).astype(int)]
            for snr in options.snr:
                sigma = np.sqrt(np.mean(clean**2) / 10 ** (snr / 10))
                noisy = clean + np.random.default_rng(19).normal(0, sigma, clean.shape)
                path = Path(folder) / "scene.img"
                write_envi(path, noisy)
                cells = []
                for model in options.models:
                    found, taken = estimate(options.program, path, model, Path(folder))
                    low, middle, high = np.percentile(found / sigma**2, [10, 50, 90])
                    cells.append("%.3g (%.3g to %.3g)%s" % (middle, low, high, ", " + taken if model == "auto" else ""))
                print("| %s, %g dB | " % (Path(scene).stem, snr) + " | ".join(cells) + " |", flush=True)


main()
