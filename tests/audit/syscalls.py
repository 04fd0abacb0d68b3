#!/usr/bin/env python3
"""Fails system calls of a command by strace, one after the other (see tests/audit/syscalls).

`read-FORMAT` fails calls on the files of a scene, whichever library makes them, `proj-FORMAT` those on the database of PROJ,
`write-KIND` those on the outputs. Every such call fails in a run of its own. A run must end with exit code 0 and the same bytes, or with a
documented exit code, one line of message and nothing in its output folder."""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import os
import pathlib
import re
import shutil
import sys
import threading

import cases
import faults
import formats

# Of each call the errors; + is this call and all that follow.
READING = {"read": ["EIO"], "pread64": ["EIO"], "readv": ["EIO"], "preadv": ["EIO"], "openat": ["EIO", "EMFILE"],
           "mmap": ["ENOMEM"], "close": ["EIO"]}
WRITING = {"write": ["ENOSPC", "ENOSPC+", "EIO"], "pwrite64": ["ENOSPC", "ENOSPC+", "EIO"], "writev": ["ENOSPC", "ENOSPC+", "EIO"],
           "read": ["EIO"], "pread64": ["EIO"], "openat": ["EIO", "ENOSPC"], "mmap": ["ENOMEM"],
           "close": ["EIO"], "fsync": ["EIO"], "fdatasync": ["EIO"], "ftruncate": ["ENOSPC"], "fallocate": ["ENOSPC"],
           "rename": ["EIO"], "renameat2": ["EIO"], "link": ["EIO"], "linkat": ["EIO"], "mkdir": ["ENOSPC"]}
COMMON = cases.COMMON + ["--quiet"]
PART = "in/part.hdr"
WRITTEN = {
    "envi": ["read", PART, "out/a.img"],
    "envi-bil": ["read", PART, "out/a.bil"],
    "tiff": ["read", PART, "out/a.tif"],
    "tiff-deflate": ["read", PART, "out/a.tif", "--compress", "deflate"],
    "tiff-bands": ["read", PART, "out/a.tif", "--compress", "lzw", "--interleave", "bsq", "--co", "TILED=YES"],
    "cog": ["read", PART, "out/a.tif", "--format", "COG"],
    "cog-zstd": ["read", PART, "out/a.tif", "--format", "COG", "--compress", "zstd"],
    "hfa": ["read", PART, "out/a.img", "--format", "HFA"],
    "netcdf": ["read", PART, "out/a.nc", "--format", "netCDF"],
    "pcidsk": ["read", PART, "out/a.pix", "--format", "PCIDSK"],
    "nitf": ["read", PART, "out/a.ntf", "--format", "NITF", "--type", "uint16"],
    "ers": ["read", PART, "out/a.ers", "--format", "ERS"],
    "png-raster": ["run", "read", PART, "!", "bands", "--keep", "1-3", "!", "write", "out/a.png", "--format", "PNG", "--type",
                   "uint16"],
    "qml": ["read", PART, "out/a.tif", "--qml"],
    "statistics": ["cov", PART, "out/a.json", "--noise", "shift"],
    "model": ["mnf", PART, "out/a.img", "--components", "3", "--save-model", "out/m.json"],
    "noise": ["noise", PART, "out/n.json", "--csv", "out/n.csv", "--picture", "out/n.png"],
    "sli": ["endmembers", PART, "out/e.sli", "--count", "3"],
    "csv": ["endmembers", PART, "out/e.csv", "--count", "3"],
    "gpkg": ["rx", PART, "out/a.img", "--detections", "out/d.gpkg", "--top", "40"],
    "geojson": ["rx", PART, "out/a.img", "--detections", "out/d.geojson", "--top", "40"],
    "preview": ["preview", PART, "out/a.png", "--bands", "1,2,3"],
    "figure-png": ["figure", PART, "out/a.png", "--bands", "1,2,3"],
    "figure-svg": ["figure", PART, "out/a.svg", "--bands", "1,2,3"],
    "figure-pdf": ["figure", PART, "out/a.pdf", "--bands", "1,2,3"],
    "report": ["read", PART, "out/a.img", "--report", "out/r.html"],
    "record": ["read", PART, "out/a.img", "--record", "out/r.json"],
    "accuracy": ["knn", "in/scene.hdr", "out/a.img", "--training", "in/class.hdr", "--split", "0.5", "--report", "out/r.json",
                 "--report", "out/r.txt"],
    "compare": ["compare", PART, "in/part.hdr", "--json", "out/c.json", "--picture", "out/c.png"],
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="the build tree")
    parser.add_argument("--sources", default=".", help="the source tree")
    parser.add_argument("--folder", default="/tmp/hcube-syscalls", help="where to work")
    parser.add_argument("--case", action="append", metavar="PATTERN", help="only these: read-hfa, 'write-*'; may be repeated")
    parser.add_argument("--call", action="append", help="only this system call; may be repeated")
    parser.add_argument("--number", type=int, help="only the call of this number")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="one in N of the calls")
    parser.add_argument("--seed", default=os.environ.get("HCUBE_AUDIT_SEED", ""), help="which ones --sample takes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="print the cases")
    return parser.parse_args()


class Case(cases.Case):
    """inputs: the folder in/; watched: the files whose calls fail, or None for those of the output folder."""

    def __init__(self, words, inputs, watched):
        super().__init__(*words)
        self.inputs, self.watched = inputs, watched
        self.calls = WRITING if watched is None else READING


def all_cases(folder, hcube, sample, patterns):
    def wanted(case):
        return not patterns or any(fnmatch.fnmatch(case, each) for each in patterns)

    made = formats.prepare(folder, hcube, sample, lambda name: name == "sli" or any(
        map(wanted, (f"read-{name}", f"read-{name}-gdal", f"proj-{name}"))))
    proj = glob.glob("/usr/share/proj/proj.db") + glob.glob("/usr/local/share/proj/proj.db")
    found = {}
    for name, each in made.items():
        if each.words[0] == "rerun":
            continue
        watched = [each.folder / file for file in each.files]
        found[f"read-{name}"] = Case(each.words, each.folder, watched)
        if proj and name in ("envi-bil", "tiff-strips", "hfa"):
            found[f"proj-{name}"] = Case(each.words, each.folder, proj)
        if each.other and name in ("envi-bsq", "tiff-strips", "tiff-deflate", "cog", "emit"):
            found[f"read-{name}-gdal"] = Case(each.other, each.folder, watched)
    inputs = made["sli"].folder
    for name, words in WRITTEN.items():
        common = ["--threads", "2", "--quiet"] if words[0] == "compare" else COMMON
        found[f"write-{name}"] = Case([*words, *common], inputs, None)
    return {name: case for name, case in found.items() if wanted(name)}


class Rig:
    """A folder for each worker and input folder, and the program under strace in it."""

    def __init__(self, options):
        self.options = options
        self.hcube = str(pathlib.Path(options.build, "app/hcube").resolve())
        # Some formats keep the time of their making.
        self.clock = f"LD_PRELOAD={pathlib.Path(options.build, 'tests/support/time_at.so').resolve()}"
        self.folder = pathlib.Path(options.folder).resolve()
        self.places = {}
        self.cases = all_cases(self.folder / "inputs", self.hcube, pathlib.Path(options.sources, "sample_data"), options.case)

    def place(self, case):
        key = threading.get_ident(), case.inputs
        if key not in self.places:
            self.places[key] = cases.Place(self.folder / f"place-{os.getpid()}-{len(self.places)}-{key[0]}", case.inputs)
        return self.places[key]

    def run(self, case, *words):
        """Exit code, standard error, what it left, what strace wrote."""
        place = self.place(case)
        place.clean(case)
        log = place.folder / "calls"
        paths = [word for path in case.watched or () for word in ("-P", str(path))]
        traced = Case(["-f", "--seccomp-bpf", "-qqq", "-y", "-s", "0", "-E", self.clock, "-o", str(log), *paths, *words,
                       self.hcube, *case.words], case.inputs, case.watched)
        code, _, err = place.run("strace", traced, "")
        # A report says what took how long, and so it differs; its end says that it is whole.
        left = {name: content[-8:] if name.endswith(".html") else content for name, content in cases.snapshot(place.out).items()}
        # The header of PCIDSK holds the name that the file was made by, and so its hash differs, too.
        for name in [name for name in left if name.endswith(".pix")]:
            left[name] = left[name][:48] + left[name][112:]
            left.pop(name + ".hcube.json", None)
        err = "".join(line for line in err.splitlines(True) if not line.startswith("strace: Requested path"))
        return code, err, left, log.read_text(errors="replace")

    def numbers(self, case, log):
        """call -> numbers of its calls on what is watched, counted in each thread, as strace does."""
        out = os.path.realpath(self.place(case).out)
        counts, found = collections.Counter(), collections.defaultdict(set)
        for line in log.splitlines():
            match = re.match(r"(\d+) +(\w+)\((.*)", line)
            if not match or match.group(2) not in case.calls:
                continue
            thread, call, rest = match.groups()
            counts[thread, call] += 1
            rest = re.sub(r"AT_FDCWD<[^>]*>", "", rest)
            if case.watched is not None or f"<{out}" in rest or '"out' in rest or f'"{out}' in rest:
                found[call].add(counts[thread, call])
        return found


def judge(expected, result, goes_on):
    """What is wrong with a disturbed run, or None. Where writes go on to fail, so does that of the message."""
    code, err, left, _ = result
    if not isinstance(code, int) or code < 0 or code in (124, 125, 134, 139):
        return f"ends by {code}: {err.strip()[-200:]}"
    if code == 0:
        apart = cases.different(expected, left)
        return f"exit code 0, but {apart}" if apart else None
    if code not in (3, 4, 5, 6):
        return f"exit code {code}: {err.strip()[-200:]}"
    said = faults.messages(err)
    if not goes_on and (len(said) != 1 or not said[0].startswith("hcube: ")):
        return f"exit code {code} with {len(said)} lines of message: {' / '.join(line[:120] for line in said[:3])}"
    return f"exit code {code}, but left {', '.join(left)}" if left else None


def campaign(rig, pool, name):
    """How many calls failed, and what is wrong."""
    case, options = rig.cases[name], rig.options
    calls = [call for call in case.calls if not options.call or call in options.call]
    code, err, expected, log = rig.run(case, "-e", "trace=" + ",".join(calls))
    if code != 0:
        why = f"{name}: undisturbed it ends with {code}: {err.strip()}"
        if case.watched is None:
            return 0, [why]
        print(f"left out: {why}")  # a product that is refused
        return 0, []
    jobs = [(call, number, error) for call, numbers in rig.numbers(case, log).items() for number in sorted(numbers)
            if options.number in (None, number) and faults.draw(options.seed, name, call, number) % options.sample == 0
            for error in case.calls[call]]

    def fault(job):
        call, number, error = job
        after = "+" if error.endswith("+") else ""
        result = rig.run(case, "-e", f"trace={call}", "-e", f"inject={call}:error={error.rstrip('+')}:when={number}{after}")
        # Another thread may have made the call this time, or the loader of the program.
        if "(INJECTED)" not in result[3] or result[0] == 127 and "shared libraries" in result[1]:
            return 0, None
        why = judge(expected, result, after)
        return 1, why and f"{name} {call}:{error} call {number}: {why}"

    results = list(pool.map(fault, jobs))
    return sum(count for count, _ in results), [why for _, why in results if why]


def main():
    options = arguments()
    if not shutil.which("strace"):
        print("skipped: strace was not found")
        return 77
    rig = Rig(options)
    names = list(rig.cases)
    if not names:
        print(f"syscalls: no case has a name like {' '.join(options.case)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(names))
        return 0
    total, failures = 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name in names:
            count, found = campaign(rig, pool, name)
            total, failures = total + count, failures + len(found)
            for why in found:
                print("  " + why.replace("\n", " / "), flush=True)
            print(f"{name}\t{count} faults\t{len(found)} failed", flush=True)
    print(f"{total} faults, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
