# The provider for QGIS without QGIS: each word of the program is in it, its command lines are right, and a run of it
# tells progress, fails with the line of the program, and stops when the user cancels.
command -v python3 >/dev/null || exit 77
provider=$(cd "$here/../../qgis" && pwd)
HCUBE=$(realpath "$HCUBE") PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$provider python3 - "$SAMPLE" <<'PYTHON'
import os
import sys
import types

# What QGIS brings: a setting that is empty.
config = types.ModuleType("processing.core.ProcessingConfig")
config.ProcessingConfig = type("ProcessingConfig", (), {"getSetting": staticmethod(lambda name: None)})
for name in ("processing", "processing.core"):
    sys.modules[name] = types.ModuleType(name)
sys.modules[config.__name__] = config

from hcube_provider.program import ProgramError, part_done, run, usage
from hcube_provider.words import LEFT_OUT, words_of


class Feedback:
    def __init__(self, cancel=False):
        self.cancel, self.progress, self.lines = cancel, [], []

    def isCanceled(self):
        return self.cancel

    def setProgress(self, percent):
        self.progress.append(percent)

    def note(self, line):
        self.lines.append(line)

    pushInfo = pushWarning = pushCommandInfo = pushConsoleInfo = note


sample = sys.argv[1]
scene = os.path.join(sample, "scene.hdr")
described = usage()
words = {word.id: word for word in words_of(described)}

# ---- which words, and their arguments ----
expected = {part["name"] for part in described["sub_algorithms"]} - LEFT_OUT
for group in ("solve", "library"):
    parts = next(part for part in described["sub_algorithms"] if part["name"] == group)["sub_algorithms"]
    expected = expected - {group} | {f"{group}_{part['name']}" for part in parts}
assert set(words) == expected, set(words) ^ expected
assert words["mnf"].is_stage and words["read"].is_stage and not words["compare"].is_stage
for word in words.values():
    names = [argument.parameter for argument in word.arguments]
    assert len(names) == len(set(names)), f"{word.id}: {names}"

line = words["mnf"].command({"INPUT": "a b.hdr", "OUTPUT": "c.tif", "COMPONENTS": "5", "QML": True, "DENOISE": False,
                             "MODEL": "", "MASK": ["x.tif:1", "y.tif"]})
assert line[-2:] == ["a b.hdr", "c.tif"], line
for part in (["--components", "5"], ["--mask", "x.tif:1", "--mask", "y.tif"], ["--qml"], ["--progress", "json"]):
    assert any(line[i : i + len(part)] == part for i in range(len(line))), (part, line)
assert "--denoise" not in line and "--model" not in line, line
line = words["svd"].command({"INPUT": "a.hdr", "OUTPUT": "b.tif", "OUTPUT_OPTION": "dimension"})
assert line[-4:] == ["--output", "dimension", "a.hdr", "b.tif"], line
assert words["write"].command({"INPUT": "a.hdr", "OUTPUT": "b.tif"})[-2:] == ["a.hdr", "b.tif"]
assert words["run"].command({"CHAIN": ["read", "a.hdr", "!", "cov", "c.json"]})[-5:] == ["read", "a.hdr", "!", "cov", "c.json"]
assert words["stages"].command({"STAGE": ["mnf"]}) == ["stages", "mnf"]
line = words["library_merge"].command({"INPUT": ["a b.sli", "c.csv"], "OUTPUT": "d.sli"})
assert line[-3:] == ["a b.sli", "c.csv", "d.sli"], line

# ---- runs ----
feedback = Feedback()
run(words["mnf"].command({"INPUT": scene, "OUTPUT": "mnf.tif", "COMPONENTS": 5}), feedback)
assert os.path.exists("mnf.tif") and any("wrote mnf.tif" in line for line in feedback.lines), feedback.lines
assert feedback.progress and feedback.progress == sorted(feedback.progress), feedback.progress
assert feedback.progress[-1] == 100, feedback.progress
assert part_done({"pass": 2, "passes": 2, "lines_done": 50, "lines": 100}) == 75
assert not any('"event"' in line for line in feedback.lines), feedback.lines
printed = run(words["info"].command({"INPUT": scene, "JSON": True}), Feedback())
assert '"bands"' in printed, printed
run(words["noise"].command({"INPUT": scene, "OUTPUT": "noise.json"}), Feedback())
assert os.path.exists("noise.json")
try:
    run(words["mnf"].command({"INPUT": scene, "OUTPUT": "m.tif", "COMPONENTS": "0"}), Feedback())
    raise SystemExit("components 0 was taken")
except ProgramError as error:
    assert "--components 0" in str(error), error

# ---- cancel: as Ctrl-C does, at the first progress of a long run; nothing stays behind ----
with open("long.hdr", "w") as header:
    header.write("ENVI\nsamples = 8192\nlines = 8192\nbands = 64\nheader offset = 0\nfile type = ENVI Standard\n"
                 "data type = 12\ninterleave = bil\nbyte order = 0\n")
with open("long.img", "wb") as data:
    data.truncate(8192 * 8192 * 64 * 2)
before = set(os.listdir("."))


class Impatient(Feedback):
    def setProgress(self, percent):
        self.cancel = True


feedback = Impatient()
run(words["cov"].command({"INPUT": "long.hdr", "OUTPUT": "long.json"}), feedback)
assert feedback.lines[-1].startswith("interrupted after"), feedback.lines
assert set(os.listdir(".")) == before, set(os.listdir(".")) ^ before
PYTHON
