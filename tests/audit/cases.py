"""The commands that are disturbed, killed and measured, on a small scene: 24 lines x 24 samples x 16 bands, cut out of
sample_data so that a run takes some hundredths of a second."""
import json
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess

from stages import DISTURBED

LINES, SAMPLES = 24, 24
FIRST_LINE, FIRST_SAMPLE = 36, 40  # all classes are near
BANDS = list(range(0, 64, 4))
LISTS = ("wavelength", "fwhm", "bbl")

# Same number of threads and memory everywhere, so that plans and records agree.
COMMON = ["--device", "cpu", "--threads", "2", "--memory", "300M"]
GPU = ["--device", "gpu", "--threads", "2", "--memory", "300M"]

LP = """NAME small
ROWS
 N cost
 L r1
 L r2
 G r3
COLUMNS
 x cost -3 r1 1
 x r3 1
 y cost -5 r2 2
 y r3 1
RHS
 RHS r1 4 r2 12
 RHS r3 1
BOUNDS
 UP BND x 3
ENDATA
"""


class Case:
    """words: the command line; resumes: whether the same command again finishes what was left (batch); pooled:
    its outputs depend on which scenes did not fail; varies: groups of calls whose failure rightly changes what it prints."""

    def __init__(self, *words, gpu=False, resumes=False, pooled=False, varies=()):
        self.words = list(words)
        self.gpu = gpu
        self.resumes = resumes
        self.pooled = pooled
        self.varies = varies


def table(path, data_type, values, lines, samples):
    """A raster of two bands, band by band."""
    path.with_suffix(".hdr").write_text(f"ENVI\nsamples = {samples}\nlines = {lines}\nbands = 2\nheader offset = 0\n"
                                        f"file type = ENVI Standard\ndata type = {data_type}\ninterleave = bsq\n"
                                        "byte order = 0\n")
    path.with_suffix(".img").write_bytes(b"".join(values))


def stages(common, suffix="", **more):
    """One command for every stage, on the CPU or on the stand-in of a GPU."""
    out = {}
    for name, words in DISTURBED.items():
        extra = common[:4] if words[0] == "solve" else common
        out[name + suffix] = Case(*words, *extra, **more)
    return out


# Without --jobs the number of processes follows the machine.
BATCH = ["batch", "mnf", "--components", "3", "!", "preview", "out/{stem}.png", "--bands", "1,2,3", "!", "write",
         "--scenes", "in/scenes", "--output", "out/{stem}.img", *COMMON]

CASES = {
    "read": Case("run", "read", "in/scene.hdr", "--mask", "in/mask.hdr", "!", "write", "out/a.img", *COMMON),
    "read-part": Case("run", "read", "in/scene.hdr", "--window", "2,3,20,12", "--mask", "in/mask.hdr:1!=1",
                      "--source-nodata", "0,-9999", "--source-scale", "apply", "!", "write", "out/a.img", *COMMON),
    "read-chunks": Case("run", "read", "in/EMIT_L2A_RFL_001.nc", "--mask", "water", "--window", "3,2,30,40", "!", "write",
                        "out/a.img", *COMMON),
    "read-tiff": Case("read", "in/scene.tif", "out/a.img", *COMMON),
    "bands": Case("bands", "in/scene.hdr", "out/a.img", "--wavelength", "500-1800", *COMMON),
    "ortho": Case("run", "read", "in/scene.hdr", "!", "write", "out/a.img", "--ortho=in/glt.hdr", "!", "preview",
                  "out/p.png", "--ortho=in/igm.hdr", *COMMON),
    **stages(COMMON),
    "inverse": Case("run", "read", "in/scene.hdr", "!", "mnf", "--keep-all", "!", "svd", "!", "mnf", "--inverse", "!",
                    "write", "out/a.img", *COMMON),
    "training": Case("knn", "in/whole.hdr", "out/a.tif", "--training", "in/training.gpkg", "--layer", "training", "--field",
                     "class_id", "--validation", "in/training.gpkg", "--validation-layer", "validation", *COMMON),
    "attributes": Case("extract", "in/whole.hdr", "out/a.sli", "--labels", "in/training.gpkg", "--layer", "training", "--field",
                       "class_name", "--attributes", "all", "--places", "out/p.gpkg", *COMMON),
    "gtiff": Case("read", "in/scene.hdr", "out/a.tif", "--compress", "deflate", *COMMON),
    "polygons": Case("run", "read", "in/EMIT_L2A_RFL_001.nc", "--quality", "none", "--cutline", "in/area.geojson", "!", "write",
                     "out/a.img", *COMMON),
    "style": Case("read", "in/scene.hdr", "out/a.tif", "--qml", *COMMON),
    "style-classes": Case("read", "in/class.hdr", "out/a.tif", "--qml", *COMMON),
    "cog": Case("read", "in/scene.hdr", "out/a.tif", "--format", "COG", *COMMON),
    "integers": Case("run", "read", "in/scene.hdr", "!", "mnf", "--components", "2", "!", "write", "out/a.img", "--type",
                     "uint8", *COMMON),
    "hfa": Case("read", "in/scene.hdr", "out/a.img", "--format", "HFA", *COMMON),
    "overwrite": Case("bands", "in/scene.hdr", "out/a.tif", "--keep", "1-3", "--overwrite", *COMMON),
    "preview": Case("run", "read", "in/scene.hdr", "!", "mnf", "--components", "3", "!", "preview", "out/a.png",
                    "--bands", "1,2,3", "--scree", "out/s.png", *COMMON),
    "compare": Case("compare", "in/scene.hdr", "in/scene.tif", "--bands", "--json", "out/c.json", "--picture", "out/c.png",
                    "--threads", "2"),
    "figure": Case("run", "read", "in/scene.hdr", "!", "mnf", "--components", "3", "!", "figure", "out/a.png", "--each", "all",
                   "--dpi", "72", "!", "figure", "out/a.svg", "--title", "a", *COMMON),
    "figure-classes": Case("figure", "in/class.hdr", "out/a.pdf", "--ortho=in/glt.hdr", *COMMON),
    "info": Case("info", "in/scene.hdr", "--bands"),
    "info-library": Case("info", "in/endmembers.hdr"),
    "info-look": Case("info", "in/scene.hdr", "--look", "out/look.png"),
    "info-look-library": Case("info", "in/endmembers.hdr", "--look", "out/look.png"),
    "info-json": Case("info", "in/scene.hdr", "--json"),
    "version": Case("version"),
    # A plan tells how the run would go. One thread: a thread that cannot be started leaves the others to do the work, and
    # changes the memory. A scene that cannot be mapped, or asked for its size, is read.
    "diff": Case("diff", "in/a.hcube.json", "in/b.hcube.json", "--all", "--json", "out/d.json", "--quiet"),
    "rerun": Case("rerun", "in/again.hcube.json", "--changed-inputs", "--quiet"),
    "rerun-check": Case("rerun", "in/kept.hcube.json", "--check", "--changed-inputs", "--quiet"),
    "plan": Case("plan", "read", "in/scene.hdr", "!", "mnf", "!", "write", "out/a.tif", "--device", "cpu", "--threads", "1",
                 "--memory", "300M", varies=("mmap", "stat")),
    "batch": Case(*BATCH, resumes=True),
    "batch-jobs": Case(*BATCH, "--jobs", "2", resumes=True),
    "pool": Case("batch", "mnf", "--components", "3", "!", "write", "--scenes", "in/scenes", "--output",
                 "out/{stem}.tif", "--pool", "out/model.json", *COMMON, resumes=True, pooled=True),
    **stages(GPU, "-gpu", gpu=True),
}


def crop(sample, name, out, bands, value_bytes):
    """Cuts an image of sample_data (BIL, or one band) and its header."""
    header = (sample / f"{name}.hdr").read_text()
    count = int(re.search(r"^bands = (\d+)", header, re.M).group(1))
    data = (sample / f"{name}.img").read_bytes()
    cut = bytearray()
    for line in range(FIRST_LINE, FIRST_LINE + LINES):
        for band in bands:
            at = ((line * count + band) * 100 + FIRST_SAMPLE) * value_bytes
            cut += data[at:at + SAMPLES * value_bytes]
    out.with_suffix(".img").write_bytes(cut)
    header = re.sub(r"^samples = \d+", f"samples = {SAMPLES}", header, flags=re.M)
    header = re.sub(r"^lines = \d+", f"lines = {LINES}", header, flags=re.M)
    header = re.sub(r"^bands = \d+", f"bands = {len(bands)}", header, flags=re.M)
    header = re.sub(r"^default bands.*\n", "", header, flags=re.M)
    for key in LISTS:
        found = re.search(rf"^{key} = {{([^}}]*)}}", header, re.M)
        if found:
            values = [v.strip() for v in found.group(1).split(",")]
            header = header.replace(found.group(0), f"{key} = {{" + ", ".join(values[b] for b in bands) + "}")
    header = re.sub(r"^map info.*\n", "map info = {UTM, 1, 1, 331200.0, 5563500.0, 30.0, 30.0, 33, North, WGS-84}\n",
                    header, flags=re.M)
    out.with_suffix(".hdr").write_text(header)


def npy(path, shape, values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    head = head.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                     struct.pack(f"<{len(values)}f", *values))


def prepare(folder, hcube, sample):
    """Makes the inputs in the folder, once for each version of this file."""
    folder, sample = pathlib.Path(folder), pathlib.Path(sample)
    version = pathlib.Path(__file__).read_text()
    if (folder / "complete").exists() and (folder / "complete").read_text() == version:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    crop(sample, "scene", folder / "scene", BANDS, 2)
    crop(sample, "class", folder / "class", [0], 1)
    (folder / "mask.hdr").write_text(f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = 1\nheader offset = 0\n"
                                     "file type = ENVI Standard\ndata type = 1\ninterleave = bsq\nbyte order = 0\n")
    (folder / "mask.img").write_bytes(bytes(i % 17 != 0 for i in range(LINES * SAMPLES)))
    (folder / "sigma.hdr").write_text(f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = 1\nheader offset = 0\n"
                                      "file type = ENVI Standard\ndata type = 1\ninterleave = bsq\nbyte order = 0\n")
    (folder / "sigma.img").write_bytes(bytes(1 + i % 9 for i in range(LINES * SAMPLES)))
    for name, value in (("dark", 0), ("white", 60000)):
        (folder / f"{name}.hdr").write_text(f"ENVI\nsamples = {SAMPLES}\nlines = 2\nbands = {len(BANDS)}\nheader offset = 0\n"
                                            "file type = ENVI Standard\ndata type = 12\ninterleave = bil\n")
        (folder / f"{name}.img").write_bytes(value.to_bytes(2, "little") * (2 * SAMPLES * len(BANDS)))
    table(folder / "glt", 3, [struct.pack("<i", (at * at + at // 7) % (SAMPLES + 1)) for at in range(2 * 30 * 26)], 30, 26)
    table(folder / "igm", 5, [struct.pack("<d", place) for place in
                              [10 + .001 * (at % SAMPLES) for at in range(LINES * SAMPLES)] +
                              [50 - .001 * (at // SAMPLES) for at in range(LINES * SAMPLES)]], LINES, SAMPLES)
    for name in ("endmembers.hdr", "endmembers.sli", "training.gpkg"):
        shutil.copy(sample / name, folder / name)
    for kind in ("RFL", "MASK"):
        shutil.copy(next(sample.glob(f"EMIT_L2A_{kind}_*.nc")), folder / f"EMIT_L2A_{kind}_001.nc")
    for ending in ("hdr", "img"):
        shutil.copy(sample / f"scene.{ending}", folder / f"whole.{ending}")
    (folder / "small.mps").write_text(LP)
    npy(folder / "a.npy", (12, 20), [((i * 7919) % 31 - 15) / 4 for i in range(240)])
    npy(folder / "b.npy", (12,), [(i * 37) % 11 - 5 for i in range(12)])
    (folder / "scenes").mkdir()
    for number in (1, 2, 3):
        for ending in ("hdr", "img"):
            shutil.copy(folder / f"scene.{ending}", folder / "scenes" / f"s{number}.{ending}")
        with open(folder / "scenes" / f"s{number}.img", "r+b") as file:
            file.seek(number * 100)
            file.write(bytes(200 * number))
    subprocess.run([hcube, "read", folder / "scene.hdr", folder / "scene.tif", "--all-bands", "--type", "uint16",
                    "--compress", "deflate", "--record", "none", "--quiet"], check=True, stdin=subprocess.DEVNULL)
    for name in ("a", "b"):
        (folder / f"{name}.hcube.json").write_text('{"hcube_record":1,"command":"hcube ' + "x" * 300 + '","list":[1,2]}')
    subprocess.run([hcube, "bands", folder / "scene.hdr", folder / "kept.tif", "--keep", "1-3", *COMMON, "--record", "none",
                    "--quiet"], check=True, stdin=subprocess.DEVNULL)
    for name, output in (("again", "out/a.img"), ("kept", "in/kept.tif")):
        words = ["bands", "in/scene.hdr", output, "--keep", "1-3", *COMMON, "--record", "none"]
        (folder / f"{name}.hcube.json").write_text(json.dumps({"hcube_record": 1, "command": "hcube", "arguments": words,
                                                               "folder": "."}))
    (folder / "area.geojson").write_text('{"type":"Polygon","coordinates":[[[12.63,50.19],[12.65,50.19],[12.64,50.21],'
                                         '[12.63,50.19]]]}')
    (folder / "complete").write_text(version)


# What differs from run to run: times, how much memory was free, and how the scene was read (mapped or not).
# `threads`: a thread that cannot be started leaves the others to do the work.
VOLATILE = {"finished", "started", "seconds", "memory_bytes", "mapped", "modified", "identity", "blocks", "threads"}
# The name of the processor comes from /proc, where the system tells it.
VOLATILE_OF = {"device": {"name"}}


def stable(value):
    if isinstance(value, dict):
        return {k: stable({n: v[n] for n in v if n not in VOLATILE_OF[k]} if k in VOLATILE_OF and isinstance(v, dict)
                          else v) for k, v in value.items() if k not in VOLATILE}
    # Where the device lacks memory, smaller blocks are taken, and a note says so. The results are the same.
    return [stable(v) for v in value if not str(v).startswith("device memory: ")] if isinstance(value, list) else value


def snapshot(folder):
    """Every file below the folder: its bytes, or of a record what does not vary."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            if not any(path.iterdir()):
                found[name] = "empty folder"
            continue
        # Records of batches hold whole paths.
        data = path.read_bytes().replace(os.fsencode(pathlib.Path(folder).parent.resolve()), b"PLACE")
        if name.endswith(".json"):
            try:
                found[name] = stable(json.loads(data))
            except ValueError:
                found[name] = "not JSON"
        else:
            found[name] = data
    return found


def different(a, b):
    """The names whose contents differ, in words."""
    words = []
    for name in sorted(set(a) | set(b)):
        if name not in a or name not in b:
            words.append(("lacks " if name in a else "has ") + name)
        elif a[name] != b[name]:
            words.append("differs in " + name)
    return ", ".join(words)


class Place:
    """A folder to run commands in, with the inputs in in/ and outputs in out/."""

    def __init__(self, folder, inputs):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        link = self.folder / "in"
        if not link.exists():
            link.symlink_to(pathlib.Path(inputs).resolve())
        self.out = self.folder / "out"

    def clean(self, case):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        if "--overwrite" in case.words:
            (self.out / "a.tif").write_bytes(b"precious")

    def run(self, hcube, case, modules, more=None):
        """Exit code (negative: a signal), standard output, standard error. A run that hangs is ended by the processor
        time that it may use, and one that sleeps for ever after ten minutes."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HCUBE_", "LD_PRELOAD"))}
        environment.update(LC_ALL="C", **(more or {}))
        if case.gpu:
            environment["HCUBE_GPU_MODULE"] = str(pathlib.Path(modules) / "stand_in.so")

        def limits():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (60, 61))

        process = subprocess.Popen([hcube, *case.words], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limits,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
            return "hangs", out.decode(errors="replace"), err.decode(errors="replace")
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")
