#!/usr/bin/env python3
"""The MNF of a scene as a careful NumPy script does it: what hcube has to beat.

    numpy_mnf.py SCENE.img OUT.img [--components 20] [--chunk-lines 32]

Reads an uncompressed uint16, int16 or float32 BIL scene of ENVI by some lines at a time, in float32 throughout but for
the sums of chunks. Noise is the pixel minus its 3x3 mean, on pixels that have all their neighbours, times 9/8 so that
white noise keeps its variance. Writes a float32 BSQ cube. There are no masks: every pixel counts.
"""

import argparse
import re
import resource
import time

import numpy as np

TYPES = {"2": np.int16, "12": np.uint16, "4": np.float32}


def read_header(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {
        key.strip().lower(): value.strip()
        for key, value in re.findall(r"^([^=\n]+)=\s*(\{[^}]*\}|[^\n]*)", text, re.MULTILINE)
    }


def header_path(data_path):
    return re.sub(r"\.[^./]*$", "", data_path) + ".hdr"


class Scene:
    """Lines of a BIL file as float32 arrays [line][band][sample]."""

    def __init__(self, path):
        header = read_header(header_path(path))
        if header["interleave"].lower() != "bil" or header.get("byte order", "0") != "0":
            raise SystemExit(f"{path}: only little-endian BIL is read here")
        self.path = path
        self.lines, self.bands, self.samples = (int(header[key]) for key in ("lines", "bands", "samples"))
        self.type = np.dtype(TYPES[header["data type"]])
        self.offset = int(header.get("header offset", "0"))

    def read(self, first, end):
        shape = (end - first, self.bands, self.samples)
        start = self.offset + first * self.bands * self.samples * self.type.itemsize
        raw = np.fromfile(self.path, self.type, count=int(np.prod(shape)), offset=start)
        return raw.reshape(shape).astype(np.float32)


def gram(cube):
    """Sum over pixels of x x', for a cube [line][band][sample]: one product a line, no transposed copy."""
    total = np.zeros((cube.shape[1],) * 2)
    for line in cube:
        total += line @ line.T
    return total


def noise_of(cube):
    """The pixel minus its 3x3 mean, for the pixels inside."""
    columns = cube[:, :, :-2] + cube[:, :, 1:-1]
    columns += cube[:, :, 2:]
    mean = columns[:-2] + columns[1:-1]
    mean += columns[2:]
    mean *= np.float32(1.0 / 9.0)
    return np.subtract(cube[1:-1, :, 1:-1], mean, out=mean)


def covariances(scene, chunk_lines):
    # float32 sums lose less about a provisional mean
    centre = scene.read(0, min(chunk_lines, scene.lines)).mean(axis=(0, 2)).astype(np.float32)[:, None]
    data_sum, data_gram = np.zeros(scene.bands), np.zeros((scene.bands,) * 2)
    noise_sum, noise_gram = np.zeros(scene.bands), np.zeros((scene.bands,) * 2)
    for first in range(0, scene.lines, chunk_lines):
        end = min(first + chunk_lines, scene.lines)
        above, below = max(first - 1, 0), min(end + 1, scene.lines)
        cube = scene.read(above, below)
        cube -= centre
        own = cube[first - above : end - above]
        data_sum += own.sum(axis=2).sum(axis=0, dtype=np.float64)
        data_gram += gram(own)
        if below - above > 2:
            noise = noise_of(cube)
            noise_sum += noise.sum(axis=2).sum(axis=0, dtype=np.float64)
            noise_gram += gram(noise)
    pixels = scene.lines * scene.samples
    inner = (scene.lines - 2) * (scene.samples - 2)
    data = (data_gram - np.outer(data_sum, data_sum) / pixels) / (pixels - 1)
    noise = (noise_gram - np.outer(noise_sum, noise_sum) / inner) / (inner - 1) * 9.0 / 8.0
    return centre[:, 0] + data_sum / pixels, data, noise


def transform_of(data, noise, components):
    values, vectors = np.linalg.eigh(noise)
    whiten = vectors / np.sqrt(values)
    eigenvalues, rotation = np.linalg.eigh(whiten.T @ data @ whiten)
    eigenvalues = eigenvalues[::-1][:components]
    loadings = (whiten @ rotation[:, ::-1][:, :components]).T
    largest = np.abs(loadings).argmax(axis=1)
    loadings *= np.sign(loadings[np.arange(len(loadings)), largest])[:, None]
    return eigenvalues, loadings


def write_components(scene, path, mean, loadings, eigenvalues, chunk_lines):
    matrix = loadings.astype(np.float32)
    shift = (loadings @ mean).astype(np.float32)[:, None]
    result = np.empty((len(matrix), scene.lines, scene.samples), np.float32)
    for first in range(0, scene.lines, chunk_lines):
        end = min(first + chunk_lines, scene.lines)
        for line, pixels in enumerate(scene.read(first, end), first):
            result[:, line] = matrix @ pixels - shift
    result.tofile(path)
    names = ", ".join(f"MNF {i + 1} (eigenvalue {value:.4g})" for i, value in enumerate(eigenvalues))
    with open(header_path(path), "w", encoding="utf-8") as file:
        file.write(
            f"ENVI\nsamples = {scene.samples}\nlines = {scene.lines}\nbands = {len(matrix)}\nheader offset = 0\n"
            "file type = ENVI Standard\ndata type = 4\ninterleave = bsq\nbyte order = 0\n"
            f"band names = {{{names}}}\n"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scene")
    parser.add_argument("output")
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--chunk-lines", type=int, default=32)
    options = parser.parse_args()

    start = time.perf_counter()
    scene = Scene(options.scene)
    mean, data, noise = covariances(scene, options.chunk_lines)
    fitted = time.perf_counter()
    eigenvalues, loadings = transform_of(data, noise, min(options.components, scene.bands))
    solved = time.perf_counter()
    write_components(scene, options.output, mean, loadings, eigenvalues, options.chunk_lines)
    written = time.perf_counter()

    print("eigenvalues:", " ".join(f"{value:.5g}" for value in eigenvalues))
    print(
        f"covariances {fitted - start:.2f} s, eigen {solved - fitted:.2f} s, transform and write "
        f"{written - solved:.2f} s, peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()
