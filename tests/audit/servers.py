#!/usr/bin/env python3
"""Lets a server of scenes and outputs fail in many ways, and checks what a command says and leaves (see
tests/audit/servers).

A command is run once undisturbed, which counts its requests. Then one of these, drawn by the seed, has a fault, alone or
with all after it. A run must end with exit code 0 and the same bytes, or with the exit code of the failure and one line that
names the address without its query. What it leaves in a bucket is whole, or the same command replaces it."""
import argparse
import collections
import concurrent.futures
import http.client
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

SECRET = "geheim"
# Faults of any request, with the exit code where they stay: the server refuses the input (3), or cannot be asked (4).
ANY = {"any 401 InvalidToken": 3, "any 403 AccessDenied": 3, "any 403 ExpiredToken": 3, "any 404 NoSuchKey": 3,
       "any 416 InvalidRange": 3, "any 500 InternalError": 4, "any 503 SlowDown": 4, "any 429 TooManyRequests": 4,
       "any 507 QuotaExceeded": 4, "any 301 PermanentRedirect": 4, "any 400 AuthorizationHeaderMalformed": 3, "reset": 4,
       "lost": 4, "nowhere": 4}
# Faults of parts that are read: an answer of another length is none (4); no ranges (3), encoded (6).
PARTS = {"short": 4, "stop": 4, "long": 4, "slow": 4, "whole": 3, "gzip": 6, "redirect": 3, "away": 4}
# Name, whether it reads by the interface of S3, words, and what it makes.
CASES = {
    "raw": ["write", "http://HOST/in/scene.img?token=" + SECRET, "out/a.img"],
    "tiles": ["write", "http://HOST/in/tiles.tif?token=" + SECRET, "out/a.tif"],
    "netcdf": ["write", "http://HOST/in/emit.nc?token=" + SECRET, "out/a.img"],
    "s3": ["pca", "s3://in/scene.img", "out/a.tif", "--components", "2"],
    "put": ["write", "in/scene.hdr", "s3://out/a.tif", "--stac"],
    "parts": ["write", "in/big.hdr", "s3://out/a.img"],
    "both": ["batch", "pca", "--components", "2", "--scenes", "list.txt", "--output", "s3://out/{stem}.tif",
             "--stac-collection", "s3://out", "--jobs", "1"],
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--sources", default=".")
    parser.add_argument("--folder", default="/tmp/hcube-servers")
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--faults", type=int, default=1000)
    commit = os.environ.get("HCUBE_AUDIT_SEED") or "1"
    parser.add_argument("--seed", type=int, default=int(commit[:8], 16))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", metavar="FAULT", help="only faults that begin so")
    return parser.parse_args()


def files_of(folder):
    """The bytes of what lies in a folder, without records, which have times."""
    found = {}
    for path in sorted(folder.rglob("*")) if folder.exists() else ():
        if path.is_file():
            name = str(path.relative_to(folder))
            found[name] = None if name.endswith(".hcube.json") else path.read_bytes()
    return found


class Place:
    """A folder with a server, and the program in it."""

    def __init__(self, rig, name):
        self.rig, self.folder = rig, rig.folder / name
        (self.folder / "web").mkdir(parents=True)
        os.symlink(rig.folder / "in", self.folder / "in")
        os.symlink(rig.folder / "in", self.folder / "web/in")
        (self.folder / "list.txt").write_text("s3://in/scene.img\ns3://in/tiles.tif\n")
        self.server = subprocess.Popen([str(rig.modules / "range_server"), str(self.folder / "web"),
                                        str(self.folder / "port")], stderr=subprocess.DEVNULL)
        port = self.folder / "port"
        while not port.exists() or not port.read_text().endswith("\n"):
            time.sleep(0.01)
        self.port = port.read_text().strip()

    def counts(self):
        link = http.client.HTTPConnection("127.0.0.1", int(self.port))
        link.request("GET", "/.counts")
        words = [int(word) for word in link.getresponse().read().split()]
        link.close()
        return words[0] + words[1]

    def clean(self):
        for name in ("out", "web/out", "web/.uploads", "scratch"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / "out").mkdir()
        (self.folder / "scratch").mkdir()

    def run(self, words, fault="", host=None):
        """Exit code, standard error, and the requests."""
        (self.folder / "web/.faults").write_text(fault + "\n")
        host = host or f"127.0.0.1:{self.port}"
        environment = dict(os.environ, AWS_S3_ENDPOINT=host, AWS_HTTPS="NO", AWS_VIRTUAL_HOSTING="FALSE",
                           AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY=SECRET, no_proxy="*",
                           AWS_CONFIG_FILE="/dev/null", AWS_SESSION_TOKEN=SECRET, TMPDIR=str(self.folder / "scratch"),
                           GDAL_HTTP_RETRY_DELAY="0.01", GDAL_HTTP_LOW_SPEED_TIME="1")
        self.counts()
        try:
            done = subprocess.run([str(self.rig.hcube)] + [word.replace("HOST", host) for word in words]
                                  + ["--device", "cpu", "--quiet"], cwd=self.folder, env=environment, timeout=200,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
            code, err = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, err = "200 s", ""
        return code, err, self.counts()

    def outputs(self):
        return {**files_of(self.folder / "out"), **files_of(self.folder / "web/out")}


class Rig:
    def __init__(self, options):
        self.options = options
        self.hcube = pathlib.Path(options.build, "app/hcube").resolve()
        self.modules = pathlib.Path(options.build, "tests/support").resolve()
        self.folder = pathlib.Path(options.folder).resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        source, inputs = pathlib.Path(options.sources, "sample_data").resolve(), self.folder / "in"
        inputs.mkdir(parents=True)
        for name in ("scene.img", "scene.hdr"):
            shutil.copy(source / name, inputs / name)
        shutil.copy(next(source.glob("EMIT_L2A_RFL*.nc")), inputs / "emit.nc")
        (inputs / "big.img").write_bytes(random.Random(1).randbytes(20000000))
        (inputs / "big.hdr").write_text("ENVI\nsamples = 5000\nlines = 4000\nbands = 1\nheader offset = 0\ndata type = 1\n"
                                        "interleave = bil\n")
        subprocess.run([self.hcube, "write", inputs / "scene.hdr", inputs / "tiles.tif", "--compress", "deflate", "--co",
                        "TILED=YES", "--co", "BLOCKXSIZE=16", "--co", "BLOCKYSIZE=16", "--quiet"], check=True)
        for beside in inputs.glob("tiles.tif.*"):
            beside.unlink()
        self.local, self.places, self.lock = threading.local(), [], threading.Lock()
        self.expected = {}

    def place(self):
        if not hasattr(self.local, "place"):
            with self.lock:
                self.local.place = Place(self, f"place{len(self.places)}")
                self.places.append(self.local.place)
        return self.local.place

    def learn(self, name):
        """The bytes of an undisturbed run, and its requests."""
        place = self.place()
        place.clean()
        code, err, requests = place.run(CASES[name])
        if code != 0:
            raise SystemExit(f"servers: {name}: undisturbed it ends with {code}: {err}")
        self.expected[name] = place.outputs(), requests

    def fault(self, job):
        name, fault, codes = job
        place = self.place()
        place.clean()
        host = "nowhere.invalid" if fault == "nowhere" else None
        result = place.run(CASES[name], "" if host else fault, host)
        why = judge(self, place, name, codes, result)
        return result[0], why and f"{name} [{fault}]: {why}"


def judge(rig, place, name, codes, result):
    """What is wrong with a disturbed run, or None."""
    code, err, _ = result
    expected, left = rig.expected[name][0], place.outputs()
    said = [line for line in err.split("\n") if line and not line.startswith(("note: ", "failed: "))]
    if SECRET in err:
        return f"a secret is told: {err.strip()[-300:]}"
    if code == 0:
        # A marker that could not be removed lies beside what is complete.
        left = {key: content for key, content in left.items() if not key.endswith(".hcube-upload")}
        return None if left == expected else f"exit code 0, but {different(expected, left)}"
    if code not in codes:
        return f"exit code {code}: {err.strip()[-300:]}"
    if len(said) != 1 or not said[0].startswith("hcube: "):
        if name != "both":
            return f"exit code {code} with {len(said)} lines: {err.strip()[-300:]}"
    if name != "both" and not any(word in err for word in ("/in/", "/vsis3/", "127.0.0.1")):
        return f"names no address: {err.strip()[-300:]}"
    marked = {key.replace(".", "", 1)[:-len(".hcube-upload")] for key in left if key.endswith(".hcube-upload")}
    for key, content in left.items():
        kept = key.endswith((".hcube-upload", ".hcube-failed.json")) or any(key.startswith(m) for m in marked)
        if not kept and name != "both" and expected.get(key, b"") != content:
            return f"exit code {code}, but left {key}"
        if key.endswith(".hcube.json") and key[:-len(".hcube.json")] in expected:
            of = key[:-len(".hcube.json")]
            if not of.endswith(".stac.json") and left.get(of) != expected[of]:
                return f"exit code {code}, and a record beside {of}, which is wrong"
    again = place.run(CASES[name] + (["--retry-failed"] if name == "both" else []))
    left = place.outputs()
    if again[0] != 0:
        return f"exit code {code}; the next run ends with {again[0]}: {again[1].strip()[-300:]} after {err.strip()[-300:]}"
    if left != expected:
        return f"exit code {code}; after the next run {different(expected, left)} after {err.strip()[-200:]}"
    if list((place.folder / "web").glob(".uploads/*")):
        return f"exit code {code}; after the next run an upload is open"
    return None


def different(expected, left):
    names = sorted(n for n in set(expected) | set(left) if expected.get(n, b"") != left.get(n, b""))
    return f"{', '.join(names)} differ"


def draw(options, rig, names):
    """The faults: (case, lines of the server, exit codes)."""
    rng, jobs = random.Random(options.seed), []
    while len(jobs) < options.faults:
        name = rng.choice(names)
        kinds = {**ANY, **PARTS} if name not in ("put", "parts") else ANY
        kind = rng.choice(list(kinds))
        number, way = rng.randint(1, rig.expected[name][1]), rng.choice(["at", "from"])
        fault = kind if kind == "nowhere" else f"{way} {number} {kind}"
        if options.only is None or kind.startswith(options.only):
            others = {"put": {4}, "parts": {4}, "both": {4, 9}}.get(name, set())  # of outputs and of batches
            moved = name == "s3" and kind in ("redirect", "away")  # which is not followed
            jobs.append((name, fault, {4 if moved else kinds[kind]} | others))
    return jobs


def main():
    options = arguments()
    names = options.case or list(CASES)
    rig = Rig(options)
    failed = 0
    ended = collections.defaultdict(collections.Counter)  # exit codes of each kind
    try:
        for name in names:
            rig.learn(name)
        jobs = draw(options, rig, names)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for number, (code, why) in enumerate(pool.map(rig.fault, jobs), 1):
                ended[jobs[number - 1][1].split(" ", 2)[-1]][code] += 1
                if number % 100 == 0:
                    print(f"{number} of {len(jobs)}", flush=True)
                if why:
                    failed += 1
                    print("  " + why.replace("\n", " / "), flush=True)
    finally:
        for place in rig.places:
            place.server.kill()
    for kind, codes in sorted(ended.items()):
        print(f"{kind}: {sum(codes.values())}, exit codes", ", ".join(f"{code} ({codes[code]})" for code in sorted(codes, key=str)))
    print(f"{len(jobs)} faults, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
