#!/usr/bin/env python3
"""Reduces an archive in one bucket to COG and STAC in another by two processes, kills them, fails requests, and checks
that the end is the same as of a local run (see tests/audit/buckets)."""
import argparse
import array
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

BANDS, SMALL, LARGE = 12, 100, 1000
CHAIN = ["mnf", "--components", "5", "!", "write", "--format", "COG", "--compress", "none"]
COMMON = ["--device", "cpu", "--threads", "1", "--jobs", "1"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--sources", default=".")
    parser.add_argument("--folder", default="/tmp/hcube-buckets")
    parser.add_argument("--scenes", type=int, default=200)
    parser.add_argument("--large", type=int, default=10, help="how many of them are sent in parts")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--percent", type=int, default=5, help="of the requests that fail")
    parser.add_argument("--share", choices=["claims", "worker"], default="claims", help="how the processes share the list")
    commit = os.environ.get("HCUBE_AUDIT_SEED") or "1"
    parser.add_argument("--seed", type=int, default=int(commit[:8], 16))
    return parser.parse_args()


def make_scene(folder, number, side, sample):
    """A scene of BANDS bands, by lines of the sample in another order with noise of its own."""
    head, data = sample
    draw = random.Random(number)
    values = array.array("H")
    row = BANDS * SMALL
    for _ in range(side):
        line = draw.randrange(SMALL)
        noise = draw.randbytes(2 * side)
        for band in range(BANDS):
            piece = data[line * row + band * SMALL:line * row + (band + 1) * SMALL]
            wide = piece * (side // SMALL)
            at = band * side // BANDS
            values.extend([v + n % 64 if v else 0 for v, n in zip(wide, noise[at:at + side])])
    (folder / f"s{number:03}.img").write_bytes(values.tobytes())
    (folder / f"s{number:03}.hdr").write_text(head.format(side=side))


def make_archive(folder, options):
    source = pathlib.Path(options.sources, "sample_data")
    words = array.array("H", (source / "scene.img").read_bytes())
    data = array.array("H")
    for line in range(SMALL):
        data.extend(words[line * 64 * SMALL:line * 64 * SMALL + BANDS * SMALL])
    place = [line for line in (source / "scene.hdr").read_text().split("\n") if line.startswith(("map info", "coordinate"))]
    waves = ", ".join(str(400 + 33 * b) for b in range(BANDS))
    head = "\n".join(["ENVI", "samples = {side}", "lines = {side}", f"bands = {BANDS}", "header offset = 0",
                      "data type = 12", "interleave = bil", "byte order = 0", "data ignore value = 0",
                      "acquisition time = 2024-05-01T10:10:10Z", "wavelength units = Nanometers",
                      "wavelength = {{" + waves + "}}"]
                     + [line.replace("{", "{{").replace("}", "}}") for line in place]) + "\n"
    folder.mkdir(parents=True)
    step = options.scenes // options.large if options.large else options.scenes + 1
    for number in range(options.scenes):
        make_scene(folder, number, LARGE if number % step == step - 1 else SMALL, (head, data))


class Rig:
    def __init__(self, options):
        self.options = options
        self.hcube = str(pathlib.Path(options.build, "app/hcube").resolve())
        self.folder = pathlib.Path(options.folder).resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.web = self.folder / "web"
        self.out = self.web / "out"
        make_archive(self.web / "in", options)
        names = sorted(p.stem for p in (self.web / "in").glob("*.img"))
        (self.folder / "list.txt").write_text("".join(f"s3://in/{name}.img\n" for name in names))
        self.server = subprocess.Popen([str(pathlib.Path(options.build, "tests/support/range_server").resolve()),
                                        str(self.web), str(self.folder / "port")])
        while not (self.folder / "port").exists() or not (self.folder / "port").read_text().endswith("\n"):
            time.sleep(0.01)
        self.port = (self.folder / "port").read_text().strip()

    def environment(self, host):
        share = self.options.share == "worker"
        scratch = self.folder / (f"scratch{host}" if share else "scratch")
        scratch.mkdir(exist_ok=True)
        return dict(os.environ, AWS_S3_ENDPOINT=f"127.0.0.1:{self.port}", AWS_HTTPS="NO", AWS_VIRTUAL_HOSTING="FALSE",
                    AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", no_proxy="127.0.0.1",
                    GDAL_HTTP_RETRY_DELAY="0.02", TMPDIR=str(scratch), AWS_CONFIG_FILE="/dev/null")

    def batch(self, host):
        words = ["--worker", f"{host + 1}/2"] if self.options.share == "worker" else []
        log = open(self.folder / f"log{host}", "a")
        return subprocess.Popen([self.hcube, "batch", *CHAIN, "--scenes", str(self.folder / "list.txt"), "--output",
                                 "s3://out/{stem}.tif", "--stac-collection", "s3://out", *COMMON, *words],
                                env=self.environment(host), stdout=log, stderr=log, start_new_session=True)

    def local(self):
        began = time.monotonic()
        subprocess.run([self.hcube, "batch", *CHAIN, "--scenes", str(self.web / "in/*.hdr"), "--output",
                        str(self.folder / "local/{stem}.tif"), "--stac-collection", str(self.folder / "local"), *COMMON,
                        "--quiet"], check=True)
        return time.monotonic() - began

    def counts(self):
        address = f"http://127.0.0.1:{self.port}/.counts"
        lines = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address).read().split()
        return [int(word) for word in lines]

    def records(self):
        return len(list(self.out.glob("s*.hcube.json"))) if self.out.exists() else 0

    def faults(self, text):
        (self.web / ".faults.new").write_text(text)
        (self.web / ".faults.new").rename(self.web / ".faults")


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def work(rig):
    """Runs both until they have nothing left; returns the kills and the number of starts."""
    draw, kills, starts, options = random.Random(rig.options.seed), 0, 2, rig.options
    running = [rig.batch(0), rig.batch(1)]
    done = [False, False]
    began = time.monotonic()
    while not all(done):
        if time.monotonic() - began > 3000:
            raise SystemExit("buckets: they do not end")
        if kills < options.kills and rig.records() > kills * options.scenes * 0.95 / (options.kills + 1):
            time.sleep(draw.random() * 0.5)
            host = draw.choice([h for h in (0, 1) if not done[h]])
            end(running[host])
            kills += 1
        for host in (0, 1):
            code = running[host].poll()
            if code is not None and not done[host]:
                if code == 0:
                    done[host] = True
                elif code in (-9, 9, 10, 4):
                    running[host] = rig.batch(host)
                    starts += 1
                else:
                    raise SystemExit(f"buckets: a batch ends with {code}: see {rig.folder}/log{host}")
        time.sleep(0.02)
    return kills, starts


def without_places(value):
    """A STAC item without what names places, times and checksums of records."""
    if isinstance(value, dict):
        return {k: without_places(v) for k, v in value.items()
                if k not in ("href", "created", "updated", "record", "links", "collection", "expression")}
    return [without_places(v) for v in value] if isinstance(value, list) else value


def judge(rig):
    """What is wrong at the end, after a run that finds all done: of two that end at the same moment the second one to write
    the collection may not know the last scene of the first."""
    wrong = []
    code = rig.batch(0).wait()
    local, out, count = rig.folder / "local", rig.out, rig.options.scenes
    expected = {p.name for p in local.iterdir() if not p.name.startswith(".")}
    there = {p.name for p in out.iterdir()}
    if there != expected:
        wrong.append(f"objects that differ: {sorted(there ^ expected)[:5]}")
    for path in local.glob("*.tif"):
        if not (out / path.name).exists() or (out / path.name).read_bytes() != path.read_bytes():
            wrong.append(f"{path.name} differs")
        item, mine = (json.loads((f / f"{path.name}.stac.json").read_text()) for f in (out, local))
        if without_places(item) != without_places(mine):
            wrong.append(f"the item of {path.name} differs")
    links = [link["href"] for link in json.loads((out / "collection.json").read_text())["links"] if link["rel"] == "item"]
    if len(set(links)) != count:
        wrong.append(f"the collection has {len(set(links))} items")
    if list(rig.web.glob(".uploads/*")):
        wrong.append("an upload in parts is open")
    left = [p for s in rig.folder.glob("scratch*") for p in s.rglob("*")]
    if left:
        wrong.append(f"in the scratch folder is {left[0]}")
    text = (rig.folder / "log0").read_text().strip().split("\n")
    shares = count if rig.options.share == "claims" else (count + 1) // 2
    if code != 0 or not any(f"0 done, {shares} complete before" in line for line in text[-8:]):
        wrong.append(f"not all records are complete: {code} {text[-1]}")
    return wrong


def main():
    options = arguments()
    rig = Rig(options)
    try:
        local_seconds = rig.local()
        print(f"local run: {local_seconds:.1f} s", flush=True)
        rig.counts()
        rig.faults(f"some {options.percent} {options.seed}\n")
        began = time.monotonic()
        kills, starts = work(rig)
        seconds = time.monotonic() - began
        heads, others, sent, _, taken = rig.counts()
        rig.faults("")
        wrong = judge(rig)
    finally:
        rig.server.kill()
    for why in wrong[:20]:
        print("  " + why)
    size = sum(p.stat().st_size for p in (rig.web / "in").iterdir()), sum(p.stat().st_size for p in rig.out.iterdir())
    print(f"{options.scenes} scenes, {starts} starts, {kills} kills, {heads} HEAD and {others} other requests, "
          f"{sent / 1e6:.0f} MB read of {size[0] / 1e6:.0f}, {taken / 1e6:.0f} MB sent for {size[1] / 1e6:.0f}, {seconds:.1f} s")
    print(f"{kills} kills, {len(wrong)} failed")
    return 1 if wrong or kills < options.kills else 0


if __name__ == "__main__":
    sys.exit(main())
