#!/usr/bin/env python3
"""Gives mutated files to whole commands (see tests/audit/commands).

Each mutant is described (`info`) and read whole, and scenes a second time by GDAL (`--no-direct`). A command must end with
exit code 0, or with a documented one, one line and no output. It must stay within processor time and memory. Both ways of
reading must write the same bytes, or both refuse."""
import argparse
import hashlib
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import time

import cases
import faults
import formats
import mutate

CPU_SECONDS, WALL_SECONDS = 30, 600
MEMORY = 1 << 30  # AddressSanitizer doubles what a command takes (80 MiB), and keeps 256 MiB of what is released
REFUSED = {2, 3, 4, 5, 6, 8}
SANITIZER = 86
ENVIRONMENT = {
    "ASAN_OPTIONS": f"exitcode={SANITIZER}:allocator_may_return_null=1:detect_leaks=0:quarantine_size_mb=32",
    "UBSAN_OPTIONS": f"halt_on_error=1:exitcode={SANITIZER}:print_stacktrace=1", "LC_ALL": "C"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/debug-asan", help="the build tree")
    parser.add_argument("--sources", default=".", help="the source tree")
    parser.add_argument("--folder", default="/tmp/hcube-commands", help="where to work")
    parser.add_argument("--findings", help="where failing mutants are kept (default: findings in --folder)")
    parser.add_argument("--input", action="append", help="only this input; may be repeated")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--mutants", type=int, default=100, help="mutants of each input")
    parser.add_argument("--seed", default=os.environ.get("HCUBE_AUDIT_SEED", ""))
    parser.add_argument("--seconds", type=float, default=0, help="end after this time (0: never)")
    parser.add_argument("--list", action="store_true", help="print the inputs")
    return parser.parse_args()


class Outcome:
    def __init__(self, code, said, peak, hung, left):
        self.code, self.said, self.peak, self.hung, self.left = code, said, peak, hung, left

    def wrong(self):
        """What is wrong with it, or None: a kind and what was said."""
        if self.hung:
            return f"hang: after {CPU_SECONDS} s of processor time or {WALL_SECONDS} s"
        if self.code < 0 or self.code in (SANITIZER, 134, 139):
            found = re.search(r"SUMMARY: .*|[^\n]*runtime error: .*", self.said)
            return f"crash: {self.code}: {found.group() if found else self.said.strip()[-200:]}"
        if self.peak > MEMORY:
            return f"memory: {self.peak >> 20} MiB"
        if self.code == 0:
            return None
        if self.code not in REFUSED:
            return f"code: {self.code}: {self.said.strip()[-200:]}"
        lines = faults.messages(self.said)
        if len(lines) != 1 or not lines[0].startswith("hcube: "):
            return f"message: {len(lines)} lines with exit code {self.code}: {' / '.join(line[:120] for line in lines[:3])}"
        return f"left: {', '.join(self.left)}" if self.left else None


class Fuzz:
    def __init__(self, options):
        self.options = options
        self.hcube = str(pathlib.Path(options.build, "app/hcube").resolve())
        self.folder = pathlib.Path(options.folder).resolve()
        self.findings = pathlib.Path(options.findings or self.folder / "findings").resolve()
        self.place = self.folder / "place"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("HCUBE_", "LD_PRELOAD"))} | ENVIRONMENT
        self.inputs = formats.prepare(self.folder / "inputs", self.hcube, pathlib.Path(options.sources, "sample_data"),
                                      lambda name: not options.input or name in options.input)
        self.commands = 0

    def run(self, words):
        """One command in the place, with an empty output folder."""
        self.commands += 1
        shutil.rmtree(self.place / "out", ignore_errors=True)
        (self.place / "out").mkdir()

        def limits():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))

        with open(self.place / "said", "w+b") as said:
            process = subprocess.Popen([self.hcube, *words], cwd=self.place, env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=said, preexec_fn=limits, start_new_session=True)
            end = time.monotonic() + WALL_SECONDS
            pid = 0
            pause = 0.005
            while pid == 0 and time.monotonic() < end:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                time.sleep(0 if pid else pause)
                pause = min(pause * 1.2, 0.1)
            if pid == 0:
                os.killpg(process.pid, 9)
                _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read(100000).decode(errors="replace")
        hung = pid == 0 or usage.ru_utime + usage.ru_stime >= CPU_SECONDS - 1
        return Outcome(process.returncode, text, usage.ru_maxrss * 1024, hung, cases.snapshot(self.place / "out"))

    def lay_out(self, given, name, number):
        """The input's folder with one mutated file; the name of that file."""
        drawn = hashlib.sha256(f"{self.options.seed} {name} {number}".encode()).digest()
        chance = random.Random(drawn)
        chosen = given.files[0] if chance.random() < 0.7 else chance.choice(given.files)
        inside = self.place / "in"
        shutil.rmtree(inside, ignore_errors=True)
        inside.mkdir(parents=True)
        for path in given.folder.iterdir():
            if path.name == chosen:
                (inside / chosen).write_bytes(mutate.mutate(path.read_bytes(), chosen, chance))
            else:
                os.link(path, inside / path.name)
        return chosen

    def mutant(self, name, number):
        """What is wrong with one mutant: lines, the first word of each its kind."""
        given = self.inputs[name]
        chosen = self.lay_out(given, name, number)
        found = []
        outcomes = {}
        for way, words in (("info", given.info), ("read", given.words), ("other", given.other)):
            if words:
                outcome = outcomes[way] = self.run(words)
                why = outcome.wrong()
                if why:
                    found.append(f"{why} [hcube {' '.join(words)}]")
        one, other = outcomes.get("read"), outcomes.get("other")
        # A chunk that hcube finds broken is refused, though GDAL takes what there is of it, or leaves the rest out.
        stricter = other and other.code == 0 and one.code == 3 and " is broken: " in one.said
        if not found and other and not stricter:
            if (one.code == 0) != (other.code == 0) or one.code == 0 and one.left != other.left:
                apart = "other bytes" if one.code == other.code else f"exit code {one.code}, by GDAL {other.code}"
                found.append(f"difference: {apart}: {(one.said + other.said).strip()[-300:]}")
        if found:
            self.keep(name, number, found, outcomes)
        return [f"{name} {number} {chosen}: {why}" for why in found]

    def keep(self, name, number, found, outcomes):
        place = self.findings / f"{name}-{self.options.seed}{number}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        shutil.copytree(self.place / "in", place / "in")
        text = "\n".join(found) + "".join(f"\n\n== {way}: exit code {each.code}, peak {each.peak >> 20} MiB\n{each.said}"
                                          for way, each in outcomes.items())
        (place / "log").write_text(text)


def main():
    options = arguments()
    fuzz = Fuzz(options)
    names = options.input or list(fuzz.inputs)
    unknown = [name for name in names if name not in fuzz.inputs]
    if unknown or not names:
        print(f"commands: there is no input {', '.join(unknown)} (see: --list)", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(names))
        return 0
    total, failed, end = 0, 0, time.monotonic() + options.seconds
    for number in range(options.first, options.first + options.mutants):
        for name in names:
            if options.seconds and time.monotonic() > end:
                break
            found = fuzz.mutant(name, number)
            total += 1
            failed += bool(found)
            for why in found:
                print("  " + why.replace("\n", " / "), flush=True)
    shutil.rmtree(fuzz.place, ignore_errors=True)
    print(f"{total} mutants, {fuzz.commands} commands, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
