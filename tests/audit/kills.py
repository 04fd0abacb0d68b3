#!/usr/bin/env python3
"""Kills a command in front of each of its changes to files, one after the other, and checks what is left, and that the
same command, run again, ends as if nothing had happened (see tests/audit/kills)."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import sys
import threading

import cases
from cases import COMMON, Case

# Commands with several outputs, and a batch. With --overwrite: a second run replaces what the first has finished.
KILLED = {
    "mnf": cases.CASES["mnf"],
    "knn": cases.CASES["knn"],
    "preview": cases.CASES["preview"],
    "gtiff": cases.CASES["gtiff"],
    "cog": cases.CASES["cog"],
    "hfa": cases.CASES["hfa"],
    "overwrite": cases.CASES["overwrite"],
    "lp": cases.CASES["lp"],
    "batch": cases.CASES["batch"],
    "batch-jobs": cases.CASES["batch-jobs"],
    "pool": cases.CASES["pool"],
    "batch-cog": Case("batch", "bands", "--keep", "1-5", "!", "write", "--format", "COG", "--scenes", "in/scenes",
                      "--output", "out/{stem}.tif", "--jobs", "1", *COMMON, resumes=True),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--sources", default=".")
    parser.add_argument("--folder", default="/tmp/hcube-kills")
    parser.add_argument("--case", action="append")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="one in N of the steps")
    parser.add_argument("--seed", default=os.environ.get("HCUBE_AUDIT_SEED", ""))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--most", type=int, default=5000, help="steps of a command")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


class Campaign:
    def __init__(self, options, name):
        self.options, self.name, self.case = options, name, KILLED[name]
        self.hcube = str(pathlib.Path(options.build, "app/hcube").resolve())
        self.modules = pathlib.Path(options.build, "tests/support").resolve()
        self.folder = pathlib.Path(options.folder).resolve()
        cases.prepare(self.folder / "inputs", self.hcube, pathlib.Path(options.sources, "sample_data"))
        self.local = threading.local()
        self.after = self.case
        if not self.case.resumes and "--overwrite" not in self.case.words:
            words = self.case.words
            self.after = Case(*words[:1], "--overwrite", *words[1:]) if words[0] == "run" else Case(*words, "--overwrite")
        place = self.place()
        place.clean(self.case)
        code, _, err = place.run(self.hcube, self.case, self.modules)
        if code != 0:
            raise SystemExit(f"{name}: undisturbed it ends with {code}: {err}")
        self.expected = cases.snapshot(place.out)
        # The record holds the command line, and so --overwrite.
        place.clean(self.case)
        place.run(self.hcube, self.after, self.modules)
        self.resumed = cases.snapshot(place.out)

    def place(self):
        if not hasattr(self.local, "place"):
            number = f"{os.getpid()}-{threading.get_ident()}"
            self.local.place = cases.Place(self.folder / f"place-{number}", self.folder / "inputs")
        return self.local.place

    def kill(self, step):
        """Whether it was killed, and what is wrong."""
        place = self.place()
        place.clean(self.case)
        code, _, err = place.run(self.hcube, self.case, self.modules,
                                 {"LD_PRELOAD": str(self.modules / "kill_at.so"), "HCUBE_KILL_AT": str(step),
                                  "HCUBE_KILL_WRITES": "1"})
        if code != -9:
            return False, None if code == 0 else f"{self.name} step {step}: ends with {code}: {err.strip()[-200:]}"
        for path, content in cases.snapshot(place.out).items():
            if ".partial" in path or "claim" in path or content in (b"precious", "empty folder"):
                continue
            if self.expected.get(path) != content:
                return True, f"{self.name} step {step}: {path} is not whole"
        code, _, err = place.run(self.hcube, self.after, self.modules)
        if code != 0:
            return True, f"{self.name} step {step}: the next run ends with {code}: {err.strip()[-200:]}"
        left = cases.snapshot(place.out)
        if left not in (self.expected, self.resumed):
            return True, f"{self.name} step {step}: the next run {cases.different(self.resumed, left)}"
        return True, None

    def drawn(self, step):
        text = f"{self.options.seed} {self.name} {step}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % self.options.sample == 0

    def run(self):
        kills, found, step = 0, [], 1
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            while step < self.options.most:
                steps = [s for s in range(step, step + 50) if self.drawn(s)]
                results = list(pool.map(self.kill, steps))
                kills += sum(killed for killed, _ in results)
                found += [why for _, why in results if why]
                step += 50
                if results and not any(killed for killed, _ in results[-2:]):
                    break
        return kills, found


def main():
    options = arguments()
    names = options.case or list(KILLED)
    unknown = [name for name in names if name not in KILLED]
    if unknown:
        print(f"kills: there is no case {' '.join(unknown)}; there are: {' '.join(KILLED)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(names))
        return 0
    total, failures = 0, 0
    for name in names:
        kills, found = Campaign(options, name).run()
        total += kills
        failures += len(found)
        for why in found:
            print("  " + why.replace("\n", " / "), flush=True)
        print(f"{name}\t{kills} kills\t{len(found)} failed", flush=True)
    print(f"{total} kills, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
