"""reflectance against NumPy: raw frames of EMIT with their real dark; the white is made from the dark.

    python bench/compare/words/reflectance.py HCUBE FOLDER_OF_EMIT_L1B_RAW [WORK_FOLDER]

Prints rows `word  reference  version  scene  largest difference`.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

RAW, DARK = "emit20220305t002601_subset_raw", "emit20220305t002444_subset_raw"
LINES, BANDS, SAMPLES = 3, 328, 1280


def frames(path):
    return np.fromfile(path, "<i2").reshape(LINES, BANDS, SAMPLES).astype(float)


def make_white(folder, work, dark):
    """A lamp over the columns and bands, with noise; two elements are dead."""
    columns, bands = np.arange(SAMPLES)[None, :], np.arange(BANDS)[:, None]
    lamp = 4000 + 1500 * np.sin(columns / 400) + 1000 * np.cos(bands / 90)
    noise = np.random.default_rng(1).normal(0, 20, (LINES, BANDS, SAMPLES))
    white = np.rint(dark.mean(0) + lamp + noise)
    white[:, 5, 7] = 0
    white[2, 3, 9] = 32767
    white.astype("<i2").tofile(os.path.join(work, "white"))
    with open(os.path.join(folder, RAW + ".hdr")) as header, open(os.path.join(work, "white.hdr"), "w") as to:
        to.write(header.read())
    return white


def compare(program, folder, work):
    raw, dark = frames(os.path.join(folder, RAW)), frames(os.path.join(folder, DARK))
    white = make_white(folder, work, dark)
    out = os.path.join(work, "out.img")
    subprocess.run([program, "reflectance", os.path.join(folder, RAW), out, "--dark", os.path.join(folder, DARK),
                    "--white", os.path.join(work, "white.hdr"), "--panel", "0.99", "--interleave", "bil",
                    "--overwrite", "--quiet"], check=True)
    got = np.fromfile(out, "<f4").reshape(LINES, BANDS, SAMPLES)
    span = white.mean(0) - dark.mean(0)
    with np.errstate(divide="ignore"):
        expected = (raw - dark.mean(0)) / span * 0.99
    lives = ((span > 0) & (white.max(0) < 32767)).all(0)
    assert np.isnan(got[:, :, ~lives]).all() and np.isfinite(got[:, :, lives]).all()
    return np.abs(got - expected)[:, :, lives].max()


def main():
    program, folder = sys.argv[1:3]
    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as work:
        print("reflectance", "NumPy", np.__version__, "emit-l1b-raw", f"{compare(program, folder, work):.2e}",
              sep="  ")


if __name__ == "__main__":
    main()
