#!/usr/bin/env python3
"""Measures the peak resident memory of commands against --memory (see tests/audit/caps).

A command may exceed the cap by 5 %. Where it refuses the cap (exit code 5, "this chain needs at least N"), it must run
with the N that it names, and stay below that. The scene is larger than the cap: 120 MB, or 60 MB with --quick."""
import argparse
import array
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

from stages import CAPPED

MIB = 1 << 20
TIFFS = {"strip-pixel": ["--interleave", "bip"], "strip-band": ["--interleave", "bsq"],
         "tile-pixel": ["--interleave", "bip", "--co", "TILED=YES"],
         "tile-band": ["--interleave", "bsq", "--co", "TILED=YES"]}
ENVI = ("bil", "bip", "bsq")
OUTPUTS = {"envi-bsq": ["out.img"], "envi-bil": ["out.bil"], "envi-bip": ["out.bip"], "gtiff": ["out.tif"],
           "gtiff-pixel": ["out.tif", "--interleave", "bip", "--co", "TILED=YES"],
           "gtiff-deflate": ["out.tif", "--compress", "deflate", "--type", "uint16"],
           "cog": ["out.tif", "--format", "COG", "--type", "uint16"], "hfa": ["out.img", "--format", "HFA"]}
QUICK = ["input/bil/mnf", "input/bsq/mnf", "input/bip/mnf", "input/tile-pixel/mnf", "output/gtiff-deflate", "output/cog",
         "stage/svd", "plan/cog", "threads/cov", "threads/mnf", "ortho"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--sources", default=".")
    parser.add_argument("--folder", default="/tmp/hcube-caps")
    parser.add_argument("--case", action="append", metavar="PATTERN")
    parser.add_argument("--threads", type=int, default=2, help="of each command whose case gives no number")
    parser.add_argument("--quick", action="store_true", help="the commonest cases, half the scene")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def all_cases():
    """name -> (scene, cap [MiB], words behind the scene's name); large scenes, and small ones for slow stages."""
    found = {}
    for scene in (*ENVI, *TIFFS, "hfa"):
        found[f"input/{scene}/mnf"] = (scene, 160, ["mnf", "SCENE", "out.img", "--components", "5"])
        found[f"input/{scene}/filter"] = (scene, 160, ["run", "read", "SCENE", "!", "filter", "median3x3", "!", "bands",
                                                       "1-20", "!", "write", "out.img"])
        found[f"plan/{scene}"] = (scene, 160, ["plan", "read", "SCENE", "!", "mnf", "!", "write", "out.img"])
    found |= {f"stage/{name}": row for name, row in CAPPED.items()}
    # Sums of many threads, of integers and of floats.
    for name, scene, words in (("cov", "bands425", ["cov", "SCENE", "out.json", "--noise", "shift"]),
                               ("mnf", "bands425", ["mnf", "SCENE", "out.img", "--components", "5"]),
                               ("floats", "floats425", ["mnf", "SCENE", "out.img", "--components", "5"])):
        found[f"threads/{name}"] = (scene, 120, [*words, "--threads", "16"])
    # Matrices of bands x bands that a fit works in.
    for name in ("mnf", "pca", "dimension", "endmembers"):
        found[f"bands/{name}"] = ("bands2000", 100, [name, "SCENE", "out.json" if name == "dimension" else "out.csv" if name ==
                                                     "endmembers" else "out.img", *(["--count", "4"] * (name == "endmembers"))])
    found["ortho"] = ("bil", 160, ["read", "SCENE", "out.img", "--ortho=glt.hdr"])
    found["compare"] = ("bil", 120, ["compare", "SCENE", "SCENE", "--picture", "out.png"])
    for name, words in OUTPUTS.items():
        found[f"output/{name}"] = ("bil", 160, ["read", "SCENE", *words])
    found["plan/cog"] = ("bands1000", 100, ["plan", "read", "SCENE", "!", "write", "out.tif", "--format", "COG"])
    found["output/cog-bands"] = ("bands1000", 100, ["read", "SCENE", "out.tif", "--format", "COG"])
    return found


class Scenes:
    """Scenes are made when a case needs them, and kept."""

    def __init__(self, options):
        self.folder = pathlib.Path(options.folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.hcube = str(pathlib.Path(options.build, "app/hcube").resolve())
        self.maker = str(pathlib.Path(options.build, "bench/make_bench_scene").resolve())
        self.threads = options.threads
        self.lines = 250 if options.quick else 500
        if not os.path.exists(self.maker):
            subprocess.run(["cmake", "--build", options.build, "--target", "make_bench_scene"], check=True,
                           stdout=subprocess.DEVNULL)
        sample = pathlib.Path(options.sources, "sample_data").resolve()
        self.library(sample)
        self.classes()
        self.sigma()
        self.references()
        self.table()

    def table(self):
        """A lookup table of 1,500 x 1,500 pixels, whose lines are not those of the scene."""
        numbers = array.array("h")
        for first, second, most in ((3, 1, 600), (1, 2, self.lines)):
            for line in range(1500):
                numbers.extend((first * line + second * sample) // 4 % most + 1 for sample in range(1500))
        (self.folder / "glt.img").write_bytes(numbers.tobytes())
        (self.folder / "glt.hdr").write_text("ENVI\nsamples = 1500\nlines = 1500\nbands = 2\nheader offset = 0\n"
                                             "file type = ENVI Standard\ndata type = 2\ninterleave = bsq\n")

    def library(self, sample):
        """Six endmembers over the wavelengths of the made scenes."""
        target = self.folder / "library.csv"
        if not target.exists():
            target.write_bytes((sample / "endmembers.csv").read_bytes())

    def classes(self):
        """Labels for the small scene: a class every 40 samples, in the first ten lines."""
        line = b"".join(bytes([1 + s // 40] * 1) for s in range(200))
        (self.folder / "classes.img").write_bytes(line * 10 + bytes(200 * 90))
        (self.folder / "classes.hdr").write_text("ENVI\nsamples = 200\nlines = 100\nbands = 1\nheader offset = 0\n"
                                                 "file type = ENVI Standard\ndata type = 1\ninterleave = bsq\n")

    def sigma(self):
        """A noise for each pixel of the small scene."""
        (self.folder / "sigma.img").write_bytes(bytes(1 + at % 9 for at in range(200 * 100)))
        (self.folder / "sigma.hdr").write_text("ENVI\nsamples = 200\nlines = 100\nbands = 1\nheader offset = 0\n"
                                               "file type = ENVI Standard\ndata type = 1\ninterleave = bsq\n")

    def references(self):
        """Ten dark and white lines of the large scenes."""
        for name, value in (("dark", 0), ("white", 60000)):
            (self.folder / f"{name}.img").write_bytes(value.to_bytes(2, "little") * (10 * 600 * 200))
            (self.folder / f"{name}.hdr").write_text("ENVI\nsamples = 600\nlines = 10\nbands = 200\nheader offset = 0\n"
                                                     "file type = ENVI Standard\ndata type = 12\ninterleave = bil\n")

    def make(self, name, words):
        partial = self.folder / f"made-{name}"
        kind = "float32" if name.startswith("floats") else "uint16"
        subprocess.run([self.maker, f"{partial}.img", *map(str, words), "--type", kind], check=True,
                       stdout=subprocess.DEVNULL)
        os.rename(f"{partial}.hdr", self.folder / f"{name}.hdr")
        os.rename(f"{partial}.img", self.folder / f"{name}.img")

    def get(self, name):
        sizes = {"small": [100, 200, 100], "bands1000": [4, 4, 1000], "bands2000": [100, 25, 2000], "bands425": [128, 400, 425],
                 "floats425": [128, 400, 425]}
        if name in ENVI or name in sizes:
            if not (self.folder / f"{name}.img").exists():
                self.make(name, sizes.get(name) or [self.lines, 600, 200, "--interleave", name])
            return f"{name}.hdr"
        path = self.folder / (f"{name}.img" if name == "hfa" else f"{name}.tif")
        if not path.exists():
            self.get("bil")
            words = ["--format", "HFA"] if name == "hfa" else ["--compress", "deflate", *TIFFS[name]]
            subprocess.run([self.hcube, "read", "bil.hdr", path.name, "--all-bands", "--type", "uint16", "--quiet",
                            "--record", "none", *words], check=True, cwd=self.folder, stdin=subprocess.DEVNULL)
        return path.name


def measure(scenes, words, cap):
    """Exit code, peak resident memory [bytes], what was said."""
    for path in scenes.folder.glob("out.*"):
        path.unlink()
    with open(scenes.folder / "said", "w+b") as said:
        threads = [] if "--threads" in words else ["--threads", str(scenes.threads)]
        extra = ["--memory", str(cap), "--device", "cpu", *threads, "--quiet"]
        if words[0] == "plan":
            words, extra = ["plan", *extra[:-1], *words[1:]], []
        elif words[0] == "compare":
            extra = [word for word in extra if word not in ("--device", "cpu")]
        elif words[0] == "run":
            words, extra = ["run", *extra, *words[1:]], []
        process = subprocess.Popen([scenes.hcube, *words, *extra], cwd=scenes.folder, stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return process.returncode, usage.ru_maxrss * 1024, said.read().decode(errors="replace")


def judge(scenes, scene, cap, words):
    """(what was measured, what is wrong or None)"""
    words = [scene if word == "SCENE" else word for word in words]
    cap *= MIB
    refused = ""
    code, peak, said = measure(scenes, words, cap)
    needs = re.search(r"needs at least ([\d.]+) (MiB|GiB)", said)
    if code == 5 and needs:
        # One unit of the last digit more, since the number was rounded.
        cap = int((float(needs.group(1)) + 0.1) * (MIB if needs.group(2) == "MiB" else 1024 * MIB))
        refused = "the least, "
        code, peak, said = measure(scenes, words, cap)
    told = f"peak {peak / MIB:.1f} MiB, {refused}cap {cap / MIB:.1f} MiB"
    if code != 0:
        return told, f"exit code {code}: {said.strip()[-200:]}"
    return told, f"exceeds the cap by {100 * (peak / cap - 1):.1f} %" if peak > cap * 1.05 else None


def main():
    options = arguments()
    found = all_cases()
    names = QUICK if options.quick else list(found)
    if options.case:
        names = [n for n in names if any(fnmatch.fnmatch(n, pattern) for pattern in options.case)]
    if not names:
        print(f"caps: no case has a name like {' '.join(options.case)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(names))
        return 0
    scenes = Scenes(options)
    failures = 0
    for name in names:
        scene, cap, words = found[name]
        told, why = judge(scenes, scenes.get(scene), cap, words)
        failures += why is not None
        print(f"{name}\t{told}\t{why or 'ok'}".replace("\n", " / "), flush=True)
    print(f"{len(names)} caps, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
