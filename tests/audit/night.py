#!/usr/bin/env python3
"""A nightly batch over scenes of two sensors, once undisturbed and once disturbed: killed, with a full disk, with a folder
that it may not write to, and with scenes that vanish for a while. Both must end with the same files (see tests/audit/night).
"""
import argparse
import csv
import ctypes
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time

# prctl(2), capabilities(7): root writes to every folder by these rights alone.
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
LINES, SAMPLES = 24, 20
SENSORS = ((12, "uint16"), (9, "int16"))
DONE, FAILED_NOW, FAILED_BEFORE, KILLED = 0, 9, 10, 137


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--folder", default="/tmp/hcube-night", help="is emptied")
    parser.add_argument("--scenes", type=int, default=500)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pool", action="store_true", help="one model for all scenes of a sensor")
    return parser.parse_args()


class Finding(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Finding(text)


class Night:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        build = pathlib.Path(options.build).resolve()
        self.hcube, self.maker = str(build / "app/hcube"), str(build / "bench/make_bench_scene")
        self.modules = build / "tests/support"
        self.folder = pathlib.Path(options.folder).resolve()
        self.runs = self.kills = 0

    # ---- scenes ----

    def make(self):
        """Scenes of two sensors in turn; one in 20 is damaged, one in 10 has a map or a mask beside it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        scenes = self.folder / "in"
        scenes.mkdir(parents=True)
        for n in range(self.options.scenes):
            bands, kind = SENSORS[n % 2]
            path = scenes / f"s{n:03}.img"
            subprocess.run([self.maker, path, str(LINES), str(SAMPLES), str(bands), "--type", kind, "--seed", str(n)],
                           check=True, stdout=subprocess.DEVNULL)
            if n % 20 == 7:
                self.damage(path, n // 20 % 3)
            if n % 10 == 3:
                self.make_map(scenes / (f"s{n:03}_map" if n % 20 == 3 else f"mask{n:03}"), n)

    @staticmethod
    def damage(path, way):
        header = path.with_suffix(".hdr")
        if way == 0:
            path.unlink()
        elif way == 1:
            os.truncate(path, path.stat().st_size // 2)
        else:
            header.write_text(header.read_text().replace("bands", "bends"))

    @staticmethod
    def make_map(path, n):
        path.with_suffix(".img").write_bytes(bytes((n + k) % 3 for k in range(LINES * SAMPLES)))
        path.with_suffix(".hdr").write_text(
            f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = 1\nheader offset = 0\nfile type = ENVI Classification\n"
            "data type = 1\ninterleave = bsq\nbyte order = 0\nclasses = 3\n")

    # ---- runs ----

    def words(self, jobs):
        pool = ["--pool", "out/model.json"] if self.options.pool else []
        return [self.hcube, "batch", "mnf", "--components", "3", "!", "preview", "out/{stem}.png", "--bands", "1,2,3", "!",
                "write", "--scenes", "in", "--output", "out/{stem}.img", "--summary", "summary.csv", "--device", "cpu",
                "--threads", "1", "--jobs", str(jobs), "--quiet", *pool]

    def run(self, place, jobs=1, before=None, **variables):
        """Runs the batch in a folder; ends when its last worker has."""
        self.runs += 1
        environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
        if "LD_PRELOAD" in variables:
            options = environment.get("ASAN_OPTIONS", "")
            environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + options
        done = subprocess.run(self.words(jobs), cwd=place, env=environment, preexec_fn=before, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return (137 if done.returncode == -9 else done.returncode), done.stdout

    def place(self, name):
        place = self.folder / name
        (place / "out").mkdir(parents=True)
        (place / "in").symlink_to(self.folder / "in")
        return place

    # ---- what is there ----

    @staticmethod
    def files(place):
        return {str(path.relative_to(place)): path for path in (place / "out").rglob("*") if not path.is_dir()}

    def whole(self, place, after):
        """Every file that has its name is that of the undisturbed batch; models are other ones while scenes lack."""
        calm = self.files(self.calm)
        for name, path in self.files(place).items():
            parts = name.split("/")
            if any(part.startswith(".") for part in parts):
                continue
            if name.endswith(".json"):
                try:
                    json.loads(path.read_text())
                except ValueError:
                    raise Finding(f"{name} is half written after {after}")
            elif not self.options.pool and not name.endswith(".noise"):
                expect(name in calm, f"{name} came up after {after}")
                expect(path.read_bytes() == calm[name].read_bytes(), f"{name} is another one after {after}")

    @staticmethod
    def without_times(path, place):
        """What a record or marker says of scene, chain, inputs and outputs."""
        json_text = json.loads(path.read_text())
        kept = {key: json_text.get(key) for key in ("version", "chain", "batch", "message", "exit_code", "pixels", "scenes",
                                                    "left_out", "sums_xxh64", "model_xxh64", "hcube_sums", "products")}
        inputs = (kept.get("batch") or {}).get("inputs") or []
        for entry in inputs:
            if entry["file"].startswith(str(place)):
                del entry["modified"]  # a model was made at another time
        return json.dumps(kept, sort_keys=True).replace(str(place), "")

    @staticmethod
    def summary(place):
        with open(place / "summary.csv", newline="", encoding="utf-8") as file:
            return [{key: value for key, value in row.items() if key not in ("finished", "seconds")}
                    for row in csv.DictReader(file)]

    def compare(self, place):
        one, other = self.files(self.calm), self.files(place)
        expect(set(one) == set(other), f"files differ: {sorted(set(one) ^ set(other))[:6]}")
        hidden = [name for name in other if "/." in name]
        expect(not hidden, f"left behind: {hidden[:6]}")
        folders = [str(path) for path in (place / "out").rglob(".*")]
        expect(not folders, f"left behind: {folders[:6]}")
        for name in one:
            if name.endswith((".hcube.json", ".hcube-failed.json")):
                same = self.without_times(one[name], self.calm) == self.without_times(other[name], place)
            else:
                same = one[name].read_bytes() == other[name].read_bytes()
            expect(same, f"{name} is another one than that of the undisturbed batch")
        expect(self.summary(self.calm) == self.summary(place), "the summaries differ")

    # ---- disturbances ----

    def changes_a_scene(self):
        """Changes to files of a batch of one scene, by killing it later and later."""
        trial = self.place("trial")
        (trial / "in").unlink()
        (trial / "in").mkdir()
        for ending in ("hdr", "img"):
            shutil.copy(self.folder / "in" / f"s000.{ending}", trial / "in")
        low, high = 1, 4096
        while low + 1 < high:
            middle = (low + high) // 2
            shutil.rmtree(trial / "out", ignore_errors=True)
            (trial / "out").mkdir()
            status, _ = self.kill(trial, middle, 1)
            low, high = (middle, high) if status == KILLED else (low, middle)
        shutil.rmtree(trial)
        return low

    def kill(self, place, change, jobs):
        return self.run(place, jobs, LD_PRELOAD=self.modules / "kill_at.so", HCUBE_KILL_AT=change, HCUBE_KILL_WRITES=1)

    def kill_some(self, place, count, scenes_each, each):
        """Kills, each before a random change to a file; `scenes` scenes lie between two on average."""
        killed = 0
        while killed < count:
            change = self.random.randint(1, max(2, int(2 * scenes_each * each)))
            status, said = self.kill(place, change, 1 + (self.kills & 1))
            expect(status in (KILLED, FAILED_NOW, FAILED_BEFORE), f"exit code {status} of a killed batch: {said}")
            if status == KILLED:
                killed += 1
                self.kills += 1
                self.whole(place, f"kill {self.kills} in front of change {change}")
            else:
                scenes_each /= 2  # it was done before
                if scenes_each < 0.01:
                    return

    def sanitized(self):
        """Whether the program has an allocator of its own, which fail_at.so does not go with."""
        return b"__asan_init" in subprocess.run(["nm", "-D", self.hcube], check=True, stdout=subprocess.PIPE).stdout

    def fill_disk(self, place):
        """Every write of the program's own code fails from some call on; with the sanitizers every file that is too large."""
        at = self.random.randint(20, 60)
        if self.sanitized():
            status, said = self.run(place, 1, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
            expected = "File too large"
        else:
            status, said = self.run(place, 1, LD_PRELOAD=self.modules / "fail_at.so", HCUBE_FAIL="write:ENOSPC",
                                    HCUBE_FAIL_AT=at, HCUBE_FAIL_TIMES=0)
            expected = "No space left"
        expect(status in (4, FAILED_NOW), f"exit code {status} on a full disk: {said[-300:]}")
        expect(expected in said, f"says nothing of a full disk: {said[-300:]}")
        self.whole(place, "a full disk")

    def lock_folder(self, place):
        """The folder of the outputs may not be written to; root would write all the same, and loses that right."""
        out = place / "out"
        library = ctypes.CDLL(None, use_errno=True)
        folders = [out] + [path for path in out.rglob("*") if path.is_dir()]
        before = {name: path.stat().st_mtime_ns for name, path in self.files(place).items()}

        def give_up_rights():
            for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH) if os.geteuid() == 0 else ():
                if library.prctl(PR_CAPBSET_DROP, right, 0, 0, 0) != 0:
                    raise OSError(ctypes.get_errno(), "prctl")

        for folder in folders:
            folder.chmod(0o555)
        try:
            status, said = self.run(place, 1, give_up_rights)
        finally:
            for folder in folders:
                folder.chmod(0o755)
        expect(status in (4, FAILED_NOW), f"exit code {status} with a folder that is read-only: {said[-300:]}")
        expect("Permission denied" in said, f"says nothing of a read-only folder: {said[-300:]}")
        now = {name: path.stat().st_mtime_ns for name, path in self.files(place).items()}
        expect(before == now, "a read-only folder was changed")

    def hide(self, place):
        """Scenes vanish: of those that are not done the data of two, and header and data of one more; the data of two that are
        done."""
        names = sorted(path.stem for path in (self.folder / "in").glob("s???.hdr"))
        names = [name for name in names if int(name[1:]) % 20 != 7]
        done = [name for name in names if (place / "out" / f"{name}.img.hcube.json").exists()]
        left = sorted(set(names) - set(done))
        chosen = self.random.sample(left, min(3, len(left))) + self.random.sample(done, min(2, len(done)))
        files = [self.folder / "in" / f"{name}.img" for name in chosen]
        files += [self.folder / "in" / f"{name}.hdr" for name in chosen[:1]]
        (self.folder / "away").mkdir()
        for path in files:
            path.rename(self.folder / "away" / path.name)

    def show(self):
        for path in (self.folder / "away").iterdir():
            path.rename(self.folder / "in" / path.name)
        (self.folder / "away").rmdir()

    # ---- the nights ----

    def be_calm(self):
        self.calm = self.place("calm")
        status, said = self.run(self.calm)
        expect(status == FAILED_NOW, f"the undisturbed batch ends with {status}: {said}")
        failed = sum(row["state"] == "failed" for row in self.summary(self.calm))
        damaged = len(range(7, self.options.scenes, 20))
        expect(failed == damaged, f"{failed} scenes failed, {damaged} are damaged")
        status, said = self.run(self.calm)
        expect(status == FAILED_BEFORE, f"the second undisturbed batch ends with {status}: {said}")

    def be_disturbed(self, each):
        place = self.place("night")
        kills = self.options.kills
        scenes_each = self.options.scenes / (kills + 4)
        steps = [self.fill_disk, self.lock_folder, self.hide, lambda _: self.show()]
        for number, step in enumerate([*steps, None]):
            share = kills * (number + 1) // 5 - kills * number // 5
            self.kill_some(place, share, scenes_each, each)
            if step is not None:
                step(place)
        for _ in range(3):
            status, said = self.run(place, 2)
            expect(status in (FAILED_NOW, FAILED_BEFORE), f"exit code {status} at the end: {said[-300:]}")
        expect(status == FAILED_BEFORE, f"the last batch ends with {status}: {said[-300:]}")
        self.compare(place)


def main():
    options = arguments()
    night = Night(options)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    start = time.monotonic()
    try:
        night.make()
        night.be_calm()
        night.be_disturbed(night.changes_a_scene())
        expect(night.kills == options.kills, f"{night.kills} kills instead of {options.kills}")
    except Finding as finding:
        print(f"  {finding}\n{night.kills} kills, 1 failed ({night.folder} is left)")
        return 1
    print(f"{night.kills} kills, {options.scenes} scenes, {night.runs} runs, {time.monotonic() - start:.0f} s")
    shutil.rmtree(night.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
