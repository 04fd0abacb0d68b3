#!/usr/bin/env python3
"""Fails calls of a command, one after the other, and checks what it says and leaves (see tests/audit/faults).

A command is run once undisturbed, under fail_at.so, which counts the calls of each group and where they come from. Of
every place the first, the middle and the last call are made to fail, each in a run of its own; --every fails all calls,
--sample N one in N of these. A run must end with exit code 0 and the same bytes, or with the exit code of the failure, one
line of message and nothing in its output folder. A batch must be finished by the same command, undisturbed."""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import threading

import cases

# The groups in the order of fail_at.h.
GROUPS = ["alloc", "read", "write", "fsync", "close", "rename", "link", "open", "mmap", "thread", "mkdir", "fork", "stat",
          "device"]
MAX_SITES, MAX_FRAMES, FRAME_BYTES = 32768, 24, 128
HEADER_BYTES = 8 * len(GROUPS) + 24 + MAX_FRAMES * FRAME_BYTES
STATE_BYTES = HEADER_BYTES + 8 * len(GROUPS) * MAX_SITES

# Of each group the errors, each once or from the call on, and the exit codes that fit.
WAYS = {
    "alloc": ([("ENOMEM", "once"), ("ENOMEM", "on")], {5}),
    "read": ([("EIO", "once"), ("EINTR", "once"), ("SHORT", "once")], {4}),
    "write": ([("ENOSPC", "on"), ("EIO", "once"), ("EINTR", "once"), ("SHORT", "once")], {4}),
    "fsync": ([("EIO", "once")], {4}),
    "close": ([("EIO", "once"), ("EINTR", "once")], {4}),
    "rename": ([("EIO", "once"), ("EINVAL", "once")], {4}),
    "link": ([("EIO", "once"), ("EPERM", "on")], {4}),
    "open": ([("EMFILE", "once"), ("EIO", "once"), ("EMFILE", "on")], {4}),
    "mmap": ([("ENOMEM", "once"), ("ENOMEM", "on")], {5}),
    "thread": ([("EAGAIN", "once"), ("EAGAIN", "on")], {5}),
    "mkdir": ([("ENOSPC", "once")], {4}),
    "fork": ([("EAGAIN", "once"), ("EAGAIN", "on")], {4, 5}),
    "stat": ([("EIO", "once")], {4}),
    "device": ([("EIO", "once"), ("EIO", "on")], {7}),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="the build tree")
    parser.add_argument("--sources", default=".", help="the source tree")
    parser.add_argument("--folder", default="/tmp/hcube-faults", help="where to work")
    parser.add_argument("--case", action="append", help="only this command; may be repeated")
    parser.add_argument("--group", action="append", help="only this group of calls; may be repeated")
    parser.add_argument("--scope", default="own", help="own, libraries, or a part of a library's name")
    parser.add_argument("--every", action="store_true", help="every call, not three of each place")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="one in N of the calls")
    parser.add_argument("--seed", default=os.environ.get("HCUBE_AUDIT_SEED", ""), help="which ones --sample takes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--way", metavar="ERROR/once|on", help="only this error: ENOMEM/once")
    parser.add_argument("--call", type=int, help="only this call")
    parser.add_argument("--list", action="store_true", help="print the items CASE/GROUP")
    return parser.parse_args()


class Rig:
    """A folder for each worker, and the program under fail_at.so in it."""

    def __init__(self, options):
        self.options = options
        self.hcube = str(pathlib.Path(options.build, "app/hcube").resolve())
        self.modules = pathlib.Path(options.build, "tests/support").resolve()
        self.folder = pathlib.Path(options.folder).resolve()
        self.inputs = self.folder / "inputs"
        self.local = threading.local()
        self.lock = threading.Lock()
        self.places = 0
        cases.prepare(self.inputs, self.hcube, pathlib.Path(options.sources, "sample_data"))

    def place(self):
        if not hasattr(self.local, "place"):
            with self.lock:
                self.places += 1
                number = self.places
            self.local.place = cases.Place(self.folder / f"place-{os.getpid()}-{number}", self.inputs)
        return self.local.place

    def run(self, case, group=None, error=None, times="once", at=0, limit=0, keep=False):
        place = self.place()
        if not keep:
            place.clean(case)
        state = place.folder / "state"
        state.write_bytes(b"")
        os.truncate(state, STATE_BYTES)
        more = {"LD_PRELOAD": str(self.modules / "fail_at.so"), "HCUBE_FAIL_STATE": str(state),
                "HCUBE_FAIL_SCOPE": self.options.scope, "HCUBE_FAIL_AT": str(at), "HCUBE_FAIL_LIMIT": str(limit),
                "HCUBE_FAIL_TIMES": "0" if times == "on" else "1"}
        if group:
            more["HCUBE_FAIL"] = f"{group}:{error}"
        code, out, err = place.run(self.hcube, case, self.modules, more)
        return code, out, err, State(state)

    def plain(self, case):
        """Undisturbed, over what is there."""
        return self.place().run(self.hcube, case, self.modules)


class State:
    def __init__(self, path):
        with open(path, "rb") as file:
            head = file.read(HEADER_BYTES)
        self.path = path
        numbers = struct.unpack_from(f"<{len(GROUPS) + 3}q", head)
        self.calls = dict(zip(GROUPS, numbers))
        self.failed, self.after, count = numbers[len(GROUPS):]
        self.frames = []
        for i in range(count):
            at = 8 * len(GROUPS) + 24 + i * FRAME_BYTES
            offset, = struct.unpack_from("<Q", head, at)
            self.frames.append((offset, head[at + 8:at + FRAME_BYTES].split(b"\0")[0].decode()))

    def sites(self, group):
        """The hash of the place of each call."""
        count = min(self.calls[group], MAX_SITES)
        with open(self.path, "rb") as file:
            file.seek(HEADER_BYTES + 8 * MAX_SITES * GROUPS.index(group))
            return struct.unpack(f"<{count}Q", file.read(8 * count))

    def trace(self, most=7):
        """Names of the functions that called, innermost first."""
        names = []
        for offset, path in self.frames:
            base = os.path.basename(path)
            if base in ("hcube", "stand_in.so"):
                lines = subprocess.run(["addr2line", "-f", "-e", path, hex(offset - 1)], capture_output=True,
                                       text=True, check=False).stdout.split("\n")
                names.append(lines[0] or "?")
            elif not names or names[-1] != base:
                names.append(base)
        return " < ".join(names[:most])


def draw(*words):
    """A number that these words decide."""
    return int.from_bytes(hashlib.sha256(" ".join(map(str, words)).encode()).digest()[:8], "big")


def chosen_calls(options, state, item, group):
    """The calls to fail: three of each place, or all; of these a sample."""
    if options.call:
        return [options.call]
    sites = {}
    for number, site in enumerate(state.sites(group), 1):
        sites.setdefault(site, []).append(number)
    calls = set()
    for numbers in sites.values():
        calls.update(numbers if options.every else (numbers[0], numbers[len(numbers) // 2], numbers[-1]))
    if options.every:
        calls.update(range(MAX_SITES + 1, state.calls[group] + 1))

    return sorted(c for c in calls if draw(options.seed, item, c) % options.sample == 0)


def untimed(out):
    return re.sub(r"[\d.e+-]+ (s|ms|us)\b", "TIME", out)


def messages(err):
    """Lines on standard error that are no remarks and no progress."""
    remarks = ("note: ", "masked: ", "wrote ", "done in ", "scene ", "failed: ", "skipped", "  ")
    return [line for line in err.splitlines() if line.startswith("hcube: ") or (line and not line.startswith(remarks))]


def judge(rig, case, expected, result, codes, group, times):
    """What is wrong with a disturbed run, or None."""
    code, out, err, state = result
    place = rig.place()
    if state.failed == 0 and code == 0:
        return None  # other threads were faster, and there was no such call
    if code == 125:
        return "hangs: it calls on and on"
    if not isinstance(code, int) or code < 0 or code in (124, 134, 139):
        return f"ends by {code}: {err.strip()[-200:]}"
    left = cases.snapshot(place.out)
    if (group, times) == ("open", "on"):
        # Without any descriptor a folder cannot be listed. The next run removes what a dead process has left.
        left = {name: content for name, content in left.items() if ".partial" not in name}
    if case.resumes:
        return judge_batch(rig, case, expected, code, left, err, codes)
    if code == 0:
        apart = cases.different(expected[1], left)
        if untimed(out) != untimed(expected[0]) and group not in case.varies:
            apart += " prints something else"
        return f"exit code 0, but {apart}" if apart else None
    if code not in codes:
        return f"exit code {code}: {err.strip()[-200:]}"
    said = messages(err)
    if len(said) != 1 or not said[0].startswith("hcube: "):
        return f"exit code {code} with {len(said)} lines of message: {err.strip()[-200:]}"
    if "--overwrite" in case.words and left.pop("a.tif", None) != b"precious":
        return "the file that was there is gone"
    return f"exit code {code}, but left {', '.join(left)}" if left else None


def judge_batch(rig, case, expected, code, left, err, codes):
    hidden = [name for name in left if ".partial" in name or "claim" in name or "failed" in name]
    outputs = {k: v for k, v in left.items() if k not in hidden}
    wrong = [k for k, v in outputs.items() if expected[1].get(k) != v and v != "empty folder"]
    if wrong and not (case.pooled and code != 0):
        return f"exit code {code}, but {', '.join(wrong)} is not whole"
    if code not in codes | {0, 9}:
        return f"exit code {code}: {err.strip()[-200:]}"
    if code == 0 and outputs != expected[1]:
        return f"exit code 0, but {cases.different(expected[1], left)}"
    again, _, told = rig.plain(case)
    if again != 0:
        return f"exit code {code}; the next batch ends with {again}: {told.strip()[-200:]}"
    apart = cases.different(expected[1], cases.snapshot(rig.place().out))
    return f"exit code {code}; after the next batch it {apart}" if apart else None


class Command:
    """A command, and its run under fail_at.so without a failure."""

    def __init__(self, rig, name):
        self.rig, self.name, self.case = rig, name, cases.CASES[name]
        code, out, err, self.state = rig.run(self.case)
        if code != 0:
            raise SystemExit(f"{name}: undisturbed it ends with {code}: {err.strip()}")
        self.expected = out, cases.snapshot(rig.place().out)
        # Calls of all libraries: the COG driver alone makes some 100,000.
        self.limit = 100000 + 10 * self.state.after
        ways = {g: chosen_calls(rig.options, self.state, f"{name}/{g}", g) for g in GROUPS}
        self.jobs = {g: [(n, error, times) for n in calls for error, times in self.drawn_ways(g, n)]
                     for g, calls in ways.items()}

    def drawn_ways(self, group, call):
        """All errors of a group; in a sample one of them for each call, so that it stays one in N faults."""
        ways = [w for w in WAYS[group][0] if self.rig.options.way in (None, "/".join(w))]
        if not ways:
            return []
        if self.rig.options.sample == 1:
            return ways
        return [ways[draw(self.rig.options.seed, self.name, group, call, "way") % len(ways)]]

    def fault(self, group, job):
        """What is wrong with one disturbed run, or None."""
        at, error, times = job
        result = self.rig.run(self.case, group, error, times, at, self.limit)
        # The system's loader of modules does not say what it lacked.
        allowed = WAYS[group][1] | ({7} if self.case.gpu else set()) | ({0} if error in ("EINTR", "SHORT") else set())
        why = judge(self.rig, self.case, self.expected, result, allowed, group, times)
        return why and f"{self.name} {group}:{error} {times} call {at}: {why} [{result[3].trace()}]"


def main():
    options = arguments()
    names = options.case or list(cases.CASES)
    unknown = [name for name in names if name not in cases.CASES] + [g for g in options.group or () if g not in GROUPS]
    if unknown:
        print(f"faults: there is no case or group {' '.join(unknown)}", file=sys.stderr)
        return 2
    # On the stand-in of a GPU what differs from the CPU.
    gpu_groups = ("alloc", "device") if options.sample == 1 else ("device",)
    items = {n: [g for g in options.group or GROUPS
                 if g in (gpu_groups if cases.CASES[n].gpu else GROUPS[:-1])] for n in names}
    if not any(items.values()):
        print(f"faults: no case has the group {' '.join(options.group)}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(f"{name}/{group}" for name in names for group in items[name]))
        return 0
    rig = Rig(options)
    total, failures = 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        # All commands at once, so that samples of a few faults each keep every worker busy.
        commands = list(pool.map(lambda name: Command(rig, name), names))
        runs = [(command, group, job) for command in commands for group in items[command.name]
                for job in command.jobs[group]]
        results = pool.map(lambda run: run[0].fault(*run[1:]), runs)
        counts = {}
        for (command, group, _), why in zip(runs, results):
            count = counts.setdefault(f"{command.name}/{group}", [0, 0])
            count[0] += 1
            count[1] += why is not None
            if why:
                print("  " + why.replace("\n", " / "), flush=True)
    for item, (faults, failed) in counts.items():
        total, failures = total + faults, failures + failed
        print(f"{item}\t{faults} faults\t{failed} failed")
    print(f"{total} faults, {failures} failed")
    if total == 0 and (options.call or options.way):
        print("faults: no call is selected", file=sys.stderr)
        return 2
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
