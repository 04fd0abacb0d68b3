#!/usr/bin/env python3
"""The MNF of a scene with Spectral Python, for comparison.

    spectral_mnf.py SCENE.img OUT.img [--components 20]

Needs numpy and spectral. Loads the whole scene in float32. Its noise is the difference of pixels to the lower right
(`noise_from_diffs`), so the components are not those of the 3x3 mean.
"""

import argparse
import re
import resource
import time

import numpy as np
import spectral


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scene")
    parser.add_argument("output")
    parser.add_argument("--components", type=int, default=20)
    options = parser.parse_args()

    start = time.perf_counter()
    spectral.settings.show_progress = False
    header = re.sub(r"\.[^./]*$", "", options.scene) + ".hdr"
    data = spectral.envi.open(header, options.scene).load()
    signal = spectral.calc_stats(data)
    noise = spectral.noise_from_diffs(data)
    result = spectral.mnf(signal, noise)
    reduced = result.reduce(data, num=options.components).astype(np.float32)
    output_header = re.sub(r"\.[^./]*$", "", options.output) + ".hdr"
    spectral.envi.save_image(output_header, reduced, interleave="bsq", ext=".img", force=True)
    print("eigenvalues:", " ".join(f"{value:.5g}" for value in result.napc.eigenvalues[: options.components]))
    print(
        f"{time.perf_counter() - start:.2f} s, peak "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()
