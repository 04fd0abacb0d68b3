#!/usr/bin/env python3
"""Mutation testing: small faults are put into the code, and the tests have to notice each one.

    tests/mutants/mutants.py --count 300 --jobs 2             draws 300 mutants and tries them
    tests/mutants/mutants.py --count 300 --jobs 2 --resume    goes on where the last run ended
    tests/mutants/mutants.py --count 300 --list               prints the mutants that this commit draws

The commit's hash seeds the draw, so no list of mutants can be tuned to. A mutant is killed when a test fails, leaks
memory, or runs out of its time. One that does not compile does not count, and another one is drawn. Only tests that
reach the changed line run: a build with coverage says which (--map). tests/mutants/equivalent.txt lists mutants that
no test can kill, each with its reason.

Results are lines of JSON in build/audit/mutants/results.jsonl: what was changed, and which test saw it.
"""
import argparse
import bisect
import concurrent.futures
import gzip
import hashlib
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time

ROOMS = ("core", "io", "pipeline", "app", "ranks")
TARGETS = {room: "hcube" if room == "app" else f"hc_{room}" for room in ROOMS}  # what CMake calls them
ROOT = pathlib.Path(__file__).resolve().parents[2]
STATE = ROOT / "build" / "audit" / "mutants"
EQUIVALENT = pathlib.Path(__file__).resolve().parent / "equivalent.txt"

# Coverage is lost where a test kills its processes, so these run for every mutant of the room, last.
ALWAYS = {"app": ("cli_batch_kill",), "io": ("test_file",), "ranks": ("test_ranks",)}


# ---- what can be changed ----

def code_only(text):
    """The text with comments, literals and preprocessor lines blanked, of the same length."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*',
                         re.S | re.M)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


SWAPS = {
    "relation": {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "},
    "arithmetic": {" + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " % ": " / ", " += ": " -= ", " -= ": " += "},
    "logic": {" && ": " || ", " || ": " && "},
}
NUMBER = re.compile(r"(?<![\w.])(\d{1,6})(?![\w.])")
CALL = re.compile(r"^[ \t]+(?!return\b|else\b|if\b|for\b|while\b|switch\b|do\b|goto\b|typedef\b)"
                  r"(?:\(void\)!?)?[A-Za-z_][\w.\->\[\]]*\([^;{}]*\);[ \t]*$", re.M)
STORE = re.compile(r"^[ \t]+[*A-Za-z_][\w.\->\[\]]*(?:\.|->|\[)[\w.\->\[\]]*(?: [+\-|&]?= )[^;{}]*;[ \t]*$", re.M)


def function_spans(code):
    """Where bodies of functions lie: from a brace at the end of a line that begins at column 0 to the brace at column 0."""
    spans = []
    for found in re.finditer(r"^[A-Za-z_][^\n;]*(?:\n[^\n;{}]*)*\)\s*\{$", code, re.M):
        end = code.find("\n}", found.end())
        if end > 0:
            spans.append((found.end(), end))
    return spans


def condition_end(code, start):
    """The place of the parenthesis that closes the one at `start`."""
    depth = 0
    for place in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return -1


def sites_of(path, text):
    """All (kind, start, end, replacement) of a file."""
    code = code_only(text)
    found = []
    for begin, end in function_spans(code):
        body = code[begin:end]
        for kind, swaps in SWAPS.items():
            for old, new in swaps.items():
                for place in re.finditer(re.escape(old), body):
                    found.append((kind, begin + place.start(), begin + place.end(), new))
        for place in re.finditer(r"(?<![\w)!=])!(?=[\w(])", body):
            found.append(("logic", begin + place.start(), begin + place.end(), ""))
        for place in re.finditer(r"\b(true|false)\b", body):
            other = "false" if place.group() == "true" else "true"
            found.append(("constant", begin + place.start(), begin + place.end(), other))
        for place in NUMBER.finditer(body):
            value = int(place.group())
            found.append(("constant", begin + place.start(), begin + place.end(), str(value + 1)))
        for place in re.finditer(r"\b(if|while) \(", body):
            opening = begin + place.end() - 1
            closing = condition_end(code, opening)
            if 0 < closing < end:
                found.append(("condition", opening, closing + 1, "(!" + text[opening:closing + 1] + ")"))
        for pattern in (CALL, STORE):
            for place in pattern.finditer(body):
                line = place.group()
                indent = len(line) - len(line.lstrip())
                found.append(("statement", begin + place.start() + indent, begin + place.end(), ";"))
        for place in re.finditer(r"\b(break|continue);", body):
            found.append(("statement", begin + place.start(), begin + place.end(), ";"))
    return found


def all_sites():
    sites = []
    listed = subprocess.run(["git", "ls-files", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in sorted(listed.split()):
        if not name.endswith((".c", ".cpp")):
            continue
        text = (ROOT / name).read_text()
        lines = [place.start() for place in re.finditer("\n", text)]
        for kind, start, end, new in sites_of(name, text):
            sites.append({"file": name, "line": bisect.bisect_left(lines, start) + 1, "kind": kind, "start": start,
                          "old": text[start:end], "new": new})
    return sites


def draw(sites, seed):
    """A sequence of all sites: a line first, each as likely as any other, then a kind of change on it, then a site."""
    order = random.Random(seed)
    lines = {}
    for site in sites:
        lines.setdefault((site["file"], site["line"]), []).append(site)
    while lines:
        for key in order.sample(sorted(lines), len(lines)):
            kind = order.choice(sorted({site["kind"] for site in lines[key]}))
            site = order.choice([site for site in lines[key] if site["kind"] == kind])
            yield site
            lines[key].remove(site)
            if not lines[key]:
                del lines[key]


def line_of(text, start):
    return text[text.rfind("\n", 0, start) + 1:(text + "\n").find("\n", start)].strip()


def equivalents():
    """{(file, line of code, replacement): reason}"""
    known = {}
    if EQUIVALENT.exists():
        for row in EQUIVALENT.read_text().splitlines():
            if row and not row.startswith("#"):
                name, rest = row.split(" | ", 1)
                line, new, reason = rest.rsplit(" | ", 2)
                known[name.strip(), line.strip(), new.strip()] = reason.strip()
    return known


# ---- building and running ----

def quiet(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)


def configure(source, build, flags):
    made = quiet(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                  f"-DCMAKE_C_FLAGS_DEBUG={flags}", f"-DCMAKE_CXX_FLAGS_DEBUG={flags}"])
    if made.returncode != 0:
        sys.exit(made.stdout)


def copy_tree(target):
    """The tracked files of the project, as they are on disk."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


# What tests of the command line load into the program.
PRELOADED = ("stand_in", "stand_in_old", "kill_at", "fail_at")


def targets_by_test(build, pattern):
    """{test: what must be built for it}: only that, since linking everything takes longer than most tests."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return {test["name"]: targets_of(test["command"], build) for test in json.loads(shown.stdout)["tests"]
            if re.search(pattern, test["name"])}


def targets_of(command, build):
    """The program of a test where this build makes it, else hcube, which scripts start."""
    program = pathlib.Path(command[0])
    return [program.name] if build in program.parents else ["hcube", *PRELOADED]


def environment(**more):
    return {**os.environ,
            "LSAN_OPTIONS": f"suppressions={ROOT}/tests/support/lsan.supp:print_suppressions=0", **more}


# ---- which test reaches which line ----

def source_of(name, build, tree):
    """A file as the tree names it. The compiler writes names without the folders of the tree and of the build."""
    path = tree / name if (tree / name).exists() else build / name  # of the build: links to the headers of rooms
    return os.path.relpath(path.resolve(), tree)


def run_covered(build, name, folder):
    """Runs one test alone; its lines as {file: [line, ...]} and its time [s]."""
    prefix = folder / name
    started = time.monotonic()
    ran = quiet(["ctest", "--test-dir", build, "-R", f"^{name}$", "--timeout", "900", "--output-on-failure"],
                env=environment(GCOV_PREFIX=str(prefix)))
    seconds = time.monotonic() - started
    if ran.returncode != 0:
        print(f"mutants: the test {name} fails without any mutant\n{ran.stdout}", file=sys.stderr)
        return name, None, seconds
    lines = {}
    data = [path for path in prefix.rglob("*.gcda")
            if any(f"/{room}/CMakeFiles/{target}.dir/" in str(path) for room, target in TARGETS.items())]
    for path in data:
        notes = pathlib.Path(str(path)[len(str(prefix)):]).with_suffix(".gcno")
        os.symlink(notes, path.with_suffix(".gcno"))
    for first in range(0, len(data), 40):
        shown = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, data[first:first + 40])], cwd=folder,
                               capture_output=True, text=True)
        for row in filter(None, shown.stdout.splitlines()):
            for part in json.loads(row)["files"]:
                hit = {line["line_number"] for line in part["lines"] if line["count"] > 0}
                if hit:
                    lines.setdefault(source_of(part["file"], build, folder.parent / "tree"), set()).update(hit)
    shutil.rmtree(prefix, ignore_errors=True)
    return name, {source: sorted(hit) for source, hit in lines.items()}, seconds


def make_map(jobs, pattern):
    """Builds with coverage, runs every test alone, and writes build/audit/mutants/map.json.gz."""
    tree, build, folder = STATE / "cover" / "tree", STATE / "cover" / "build", STATE / "cover" / "data"
    for path in (tree, folder):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    copy_tree(tree)
    configure(tree, build, "-O1 --coverage")
    made = quiet(["cmake", "--build", build, "-j", str(max(jobs, os.cpu_count() or 1))])
    if made.returncode != 0:
        sys.exit(made.stdout)
    targets_by_name = targets_by_test(build, pattern)  # CTest tells no command before its program is there
    tests = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, lines, seconds in pool.map(lambda test: run_covered(build, test, folder), targets_by_name):
            if lines is not None:
                tests[name] = {"seconds": seconds, "lines": lines, "targets": targets_by_name[name]}
    if not any((tree / source).exists() for test in tests.values() for source in test["lines"]):
        sys.exit("mutants: no test reaches any line of the tree, so the coverage of this build is not understood")
    with gzip.open(STATE / "map.json.gz", "wt") as file:
        json.dump(tests, file)
    return tests


def reaching(tests, file, first, last):
    return [name for name, test in tests.items() if any(first <= line <= last for line in test["lines"].get(file, ()))]


def tests_for(tests, site, last_line, killers):
    """Names of the tests that reach the site: first those that killed a mutant of its file, then the quickest."""
    reach = reaching(tests, site["file"], site["line"], last_line)
    if not reach:  # the compiler attributes no code to some lines, such as "int count = 0;"
        reach = reaching(tests, site["file"], site["line"] - 4, last_line + 4)
    reach.sort(key=lambda name: (name not in killers, tests[name]["seconds"]))
    return reach + [name for name in ALWAYS.get(site["file"].split("/")[0], ()) if name in tests and name not in reach]


# ---- one mutant ----

class Worker:
    """A copy of the tree with a build of its own."""

    def __init__(self, number):
        self.tree, self.build = STATE / f"work-{number}" / "tree", STATE / f"work-{number}" / "build"
        shutil.rmtree(self.tree, ignore_errors=True)
        self.tree.mkdir(parents=True)
        copy_tree(self.tree)
        configure(self.tree, self.build, "-O1 -fsanitize=leak")
        made = self.make("hcube", *PRELOADED)
        if made.returncode != 0:
            raise RuntimeError(made.stdout)

    def make(self, *targets):
        return quiet(["cmake", "--build", self.build, "-j", "1", "--target", *targets])

    def judge(self, names, tests):
        """("killed", the first of the tests that fails), ("survived", None) or ("uncompiled", None)."""
        for name in names:
            if self.make(*tests[name]["targets"]).returncode != 0:
                return "uncompiled", None
            limit = 60 + 10 * tests[name]["seconds"]
            ran = quiet(["bash", "-c", 'ulimit -f 4194304 -c 0; exec "$@"', "-", "ctest", "--test-dir", self.build, "-R",
                         f"^{name}$", "--timeout", f"{limit:.0f}"], env=environment())
            if ran.returncode != 0:
                return "killed", name
        return "survived", None

    def judge_unreached(self):
        """No test comes here; it survives where it compiles."""
        return ("survived" if self.make("hcube").returncode == 0 else "uncompiled"), None

    def attempt(self, site, tests, killers):
        path = self.tree / site["file"]
        text = path.read_text()
        start, end = site["start"], site["start"] + len(site["old"])
        result = {**site, "code": line_of(text, start)}
        last_line = site["line"] + site["old"].count("\n")
        names = tests_for(tests, site, last_line, killers)
        try:
            path.write_text(text[:start] + site["new"] + text[end:])
            verdict, test = self.judge(names, tests) if names else self.judge_unreached()
            return {**result, "result": verdict, "test": test, "tests": len(names)}
        finally:
            path.write_text(text)


# ---- the whole ----

def summary(results, count):
    tried = [row for row in results if row["result"] != "uncompiled"][:count]
    known = equivalents()
    equal = [row for row in tried if row["result"] == "survived" and (row["file"], row["code"], row["new"].strip()) in known]
    killed = sum(row["result"] == "killed" for row in tried)
    rest = len(tried) - len(equal)
    share = 100.0 * killed / rest if rest else 0.0
    return tried, equal, killed, f"{len(tried)} mutants, {killed} killed, {len(equal)} equivalent: {share:.1f} % of the others killed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="how many mutants that compile")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree that work at the same time")
    parser.add_argument("--seconds", type=float, default=540, help="starts no mutant after this time")
    parser.add_argument("--seed", help="instead of the commit's hash")
    parser.add_argument("--rooms", default=",".join(ROOMS), help="only mutants of these folders, separated by commas")
    parser.add_argument("--under", default="", help="only mutants of files whose path begins so, separated by commas")
    parser.add_argument("--resume", action="store_true", help="keeps the results that are there")
    parser.add_argument("--tests", default="", help="only tests whose name this regular expression finds")
    parser.add_argument("--map", action="store_true", help="only finds out which test reaches which line")
    parser.add_argument("--list", action="store_true", help="only prints the mutants")
    options = parser.parse_args()
    began = time.monotonic()
    STATE.mkdir(parents=True, exist_ok=True)
    seed = options.seed or subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                                          check=True).stdout.strip()
    rooms = options.rooms.split(",")
    if unknown := set(rooms) - set(ROOMS):
        parser.error(f"--rooms: there is no room {', '.join(sorted(unknown))}; there are: {', '.join(ROOMS)}")
    under = tuple(word for word in options.under.split(",") if word) or ("",)
    sites = [site for site in all_sites() if site["file"].split("/")[0] in rooms]
    for start in under:
        if not any(site["file"].startswith(start) for site in sites):
            parser.error(f"--under: no file that can be changed begins with '{start}'")
    drawn = (site for site in draw(all_sites(), hashlib.sha256(seed.encode()).hexdigest())
             if site["file"].split("/")[0] in rooms and site["file"].startswith(under))
    if options.list:
        for site in itertools.islice(drawn, options.count):
            print(f"{site['file']}:{site['line']}: {site['kind']}: {site['old'].strip()!r} becomes {site['new'].strip()!r}")
        return 0
    results_path, seed_path, map_path = STATE / "results.jsonl", STATE / "seed", STATE / "map.json.gz"
    seed += "".join(f" {start}" for start in under if start)  # another choice of files is another draw
    same = options.resume and seed_path.exists() and seed_path.read_text() == seed
    if not same:
        for path in (results_path, map_path):
            path.unlink(missing_ok=True)
        seed_path.write_text(seed)
    tests = json.load(gzip.open(map_path)) if map_path.exists() else make_map(options.jobs, options.tests)
    print(f"mutants: {len(tests)} tests mapped after {time.monotonic() - began:.0f} s", flush=True)
    if options.map:
        return 0
    results = [json.loads(row) for row in results_path.read_text().splitlines()] if results_path.exists() else []
    done = {(row["file"], row["start"], row["new"]) for row in results}
    drawn = (site for site in drawn if (site["file"], site["start"], site["new"]) not in done)
    lock = threading.Lock()

    def next_site():
        with lock:
            enough = sum(row["result"] != "uncompiled" for row in results) >= options.count
            if enough or time.monotonic() - began > options.seconds:
                return None
            return next(drawn, None)

    def work(number):
        worker = Worker(number)
        while (site := next_site()) is not None:
            with lock:
                killers = {row["test"] for row in results if row["file"] == site["file"] and row["result"] == "killed"}
            result = worker.attempt(site, tests, killers)
            with lock:
                results.append(result)
                with open(results_path, "a") as file:
                    file.write(json.dumps(result) + "\n")

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(work, number) for number in range(options.jobs)]:
            future.result()
    tried, equal, _, line = summary(results, options.count)
    for row in tried:
        if row["result"] == "survived" and row not in equal:
            print(f"survived: {row['file']}:{row['line']}: {row['old'].strip()!r} becomes {row['new'].strip()!r}"
                  f" ({row['tests']} tests)   {row['code']}")
    print(f"mutants: {line}", flush=True)
    # 75: more is to be done. Few files may have fewer mutants than were asked for.
    return 0 if len(tried) >= options.count or next(drawn, None) is None else 75


if __name__ == "__main__":
    sys.exit(main())
