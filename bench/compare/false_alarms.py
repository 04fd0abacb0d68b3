#!/usr/bin/env python3
"""Announced and true false-alarm rates of rx and detect, on Gaussian scenes.

    python3 bench/compare/false_alarms.py HCUBE [--sizes 144x40,400x10,400x40,2000x40] [--backgrounds 200]
        [--pixels 25000000] [--methods rx,mf,amf,ace] [--robust RATE]

A cell has scenes of pixels from one Gaussian distribution. `other`: --by mask takes PIXELS of them (the first
number of a size; the second is the number of bands), and the rates of the others count. `own`: each background scores
its own pixels. With --robust each scene leaves out pixels of its own. Printed is how many pixels have an announced rate
of at most 1e-2, 1e-3 and 1e-4, divided by how many should.
"""
import argparse
import os
import subprocess
import tempfile

import numpy

from envi import write_envi

RATES = (1e-2, 1e-3, 1e-4)


def write_classes(path, lines, samples, pixels):
    """Classes 1 (the first pixels) and 0, or with pixels = None a class for each column."""
    classes = numpy.tile(numpy.arange(1, samples + 1, dtype=numpy.uint8), lines)
    if pixels is not None:
        classes = (numpy.arange(lines * samples) < pixels).astype(numpy.uint8)
    classes.tofile(path + ".img")
    with open(path + ".hdr", "w", encoding="ascii") as header:
        header.write(f"ENVI\nsamples = {samples}\nlines = {lines}\nbands = 1\nheader offset = 0\ndata type = 1\n"
                     "interleave = bsq\nbyte order = 0\n")


def write_scene(lines, samples, bands, random):
    write_envi("scene.img", random.standard_normal((lines, samples, bands), dtype=numpy.float32))
    with open("scene.hdr", "a", encoding="ascii") as header:
        header.write("wavelength units = Nanometers\nwavelength = {"
                     + ", ".join(str(400 + 10 * band) for band in range(bands)) + "}\n")


def rates_of(hcube, words):
    """The last band of what the chain writes."""
    command = [hcube, "run", "--quiet", "--overwrite", "--record", "none", "read", "scene.hdr", "!", *words, "!",
               "write", "out.img", "--interleave", "bsq"]
    subprocess.run(command, check=True)
    return numpy.fromfile("out.img", dtype=numpy.float32)


def stage(method, target):
    """The words of a stage; target: a CSV."""
    return ["rx"] if method == "rx" else ["detect", "--method", method, "--targets", target, "--scale", "none"]


def spectrum(bands, random):
    """Writes a target at 10 standard deviations from the mean."""
    direction = random.standard_normal(bands)
    with open("target.csv", "w", encoding="ascii") as file:
        file.write("wavelength,target\n")
        for band, value in enumerate(10 * direction / numpy.linalg.norm(direction)):
            file.write(f"{400 + 10 * band},{value:.8f}\n")


def count(rates, found):
    valid = rates[numpy.isfinite(rates)]
    found[0] += valid.size
    for k, rate in enumerate(RATES):
        found[k + 1] += numpy.count_nonzero(valid <= rate)


def run_other(args, method, pixels, bands, random):
    found = [0, 0, 0, 0]
    each = -(-args.pixels // args.backgrounds)
    samples = 512
    lines = -(-(each + pixels) // samples)
    for _ in range(args.backgrounds):
        write_scene(lines, samples, bands, random)
        write_classes("mask", lines, samples, pixels)
        rates = rates_of(args.hcube, stage(method, "target.csv") + ["--by", "mask=mask.hdr", "--rates",
                                                                    "gaussian"])
        count(rates.reshape(2, -1)[1][pixels:], found)
    return found


def run_own(args, method, pixels, bands, random):
    found = [0, 0, 0, 0]
    samples = 250
    while found[0] < args.pixels:
        write_scene(pixels, samples, bands, random)
        words = ["--by", "columns=1"]
        if method == "rx":
            write_classes("classes", pixels, samples, None)
            words = ["--by", "classes=classes.hdr"]
        count(rates_of(args.hcube, stage(method, "target.csv") + words + ["--rates", "gaussian"]).reshape(2, -1)[1],
              found)
    return found


def run_robust(args, method, pixels, bands, random):
    found = [0, 0, 0, 0]
    for _ in range(max(args.backgrounds, -(-args.pixels // pixels))):
        write_scene(pixels // 10, 10, bands, random)
        count(rates_of(args.hcube, stage(method, "target.csv") + ["--robust", str(args.robust), "--rates", "gaussian"])
              .reshape(2, -1)[1], found)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hcube")
    parser.add_argument("--sizes", default="144x40,400x10,400x40,2000x40")
    parser.add_argument("--methods", default="rx,mf,amf,ace")
    parser.add_argument("--backgrounds", type=int, default=200)
    parser.add_argument("--pixels", type=int, default=25000000)
    parser.add_argument("--robust", type=float)
    args = parser.parse_args()
    args.hcube = os.path.abspath(args.hcube)
    print("| method | pixels x bands | of | 1e-2 | 1e-3 | 1e-4 |\n|---|---|---|---|---|---|")
    kinds = {"robust": run_robust} if args.robust else {"other": run_other, "own": run_own}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for size in args.sizes.split(","):
            pixels, bands = map(int, size.split("x"))
            for method in args.methods.split(","):
                for kind, run in kinds.items():
                    random = numpy.random.default_rng(20261128)
                    spectrum(bands, random)
                    found = run(args, method, pixels, bands, random)
                    shares = [found[k + 1] / found[0] / rate for k, rate in enumerate(RATES)]
                    print(f"| {method} | {size} | {kind} | " + " | ".join(f"{share:.2f}" for share in shares) + " |",
                          flush=True)


if __name__ == "__main__":
    main()
