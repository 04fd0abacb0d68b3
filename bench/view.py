#!/usr/bin/env python3
"""Times of the server of `hcube view`: first picture, clicks, tiles, memory (docs/view.md).

    bench/view.py [--program HCUBE] [--folder FOLDER] [--gigabytes 5] [--clicks 200]

Writes a scene of random uint16 as BIL, BSQ and BIP (2500 samples x 400 bands), and measures each over one connection that
stays open: the time from the start of the program to the first picture (scene.json and all tiles of the last level but
one), spectra of random pixels with files that are in the page cache and with files that were dropped from it
(posix_fadvise), tiles of all levels, and the largest resident memory of the server.
"""
import argparse
import http.client
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import urllib.parse

SAMPLES, BANDS = 2500, 400
HEADER = """ENVI
samples = {samples}
lines = {lines}
bands = {bands}
header offset = 0
file type = ENVI Standard
data type = 12
interleave = {interleave}
byte order = 0
wavelength units = Nanometers
wavelength = {{ {wavelengths} }}
"""


def make_scene(folder, interleave, gigabytes):
    """Random bytes, as no compression of a file system shortens them; an existing scene of the size stays."""
    lines = max(1, round(gigabytes * 1e9 / (SAMPLES * BANDS * 2)))
    data, header = folder / f"view_{interleave}.img", folder / f"view_{interleave}.hdr"
    size = lines * SAMPLES * BANDS * 2
    if not data.exists() or data.stat().st_size != size:
        piece = os.urandom(64 << 20)
        with open(data, "wb") as file:
            for begin in range(0, size, len(piece)):
                file.write(piece[:min(len(piece), size - begin)])
    wavelengths = ", ".join(f"{400 + 2100 * band / (BANDS - 1):.2f}" for band in range(BANDS))
    header.write_text(HEADER.format(samples=SAMPLES, lines=lines, bands=BANDS, interleave=interleave,
                                    wavelengths=wavelengths))
    return header, data, lines


class Server:
    def __init__(self, program, scene):
        self.began = time.perf_counter()
        self.process = subprocess.Popen([program, "view", scene, "--no-open"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.connection = http.client.HTTPConnection(self.address.netloc)

    def get(self, place):
        self.connection.request("GET", self.address.path + place)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{place}: {answer.status} {body[:200]}")
        return body

    def time_of(self, place):
        begin = time.perf_counter()
        self.get(place)
        return time.perf_counter() - begin

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def close(self):
        self.process.terminate()
        self.process.wait()


def drop(data):
    with open(data, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def say(what, seconds):
    seconds = sorted(seconds)
    at = [seconds[min(len(seconds) - 1, int(share * len(seconds)))] * 1000 for share in (0.5, 0.95)]
    print(f"  {what:34} p50 {at[0]:8.1f} ms   p95 {at[1]:8.1f} ms   of {len(seconds)}")


def tiles_of(lines, level):
    side = 256 << level
    return [f"tile/0/{level}/{row}/{column}" for row in range(-(-lines // side)) for column in range(-(-SAMPLES // side))]


def measure(program, header, data, lines, clicks, seed):
    chance = random.Random(seed)
    def click():
        return f"spectrum?layer=0&line={chance.randrange(lines)}&sample={chance.randrange(SAMPLES)}"
    levels = max(1, (max(lines, SAMPLES) - 1).bit_length() - 7)
    places = [click() for _ in range(clicks)]
    drop(data)
    server = Server(program, str(header))
    server.get("scene.json")
    for tile in tiles_of(lines, max(0, levels - 2)):
        server.get(tile)
    print(f"  {'first picture, cold':34} {1000 * (time.perf_counter() - server.began):12.1f} ms")
    drop(data)
    say("click, cold", [server.time_of(place) for place in places])
    say("click, in the page cache", [server.time_of(place) for place in places])
    say("window of 20 x 20 pixels", [server.time_of(f"spectrum?layer=0&lines={line}:{line + 19}&samples=0:19")
                                     for line in range(0, lines - 20, max(1, lines // 20))])
    for level in range(levels):
        tiles = tiles_of(lines, level)
        say(f"tile of level {level}", [server.time_of(tile) for tile in chance.sample(tiles, min(40, len(tiles)))])
    print(f"  {'largest resident memory':34} {server.memory():12.1f} MiB")
    server.close()
    again = Server(program, str(header))
    again.get("scene.json")
    for tile in tiles_of(lines, max(0, levels - 2)):
        again.get(tile)
    print(f"  {'first picture, in the page cache':34} {1000 * (time.perf_counter() - again.began):12.1f} ms")
    again.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--program", default=str(root / "build/release/app/hcube"))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/hcube-view"))
    parser.add_argument("--gigabytes", type=float, default=5)
    parser.add_argument("--clicks", type=int, default=200)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for interleave in ("bil", "bsq", "bip"):
        header, data, lines = make_scene(options.folder, interleave, options.gigabytes)
        print(f"{interleave}: {lines} lines x {SAMPLES} samples x {BANDS} bands, {data.stat().st_size / 1e9:.1f} GB")
        measure(options.program, header, data, lines, options.clicks, 1)


if __name__ == "__main__":
    main()
