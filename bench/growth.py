#!/usr/bin/env python3
"""How time and memory grow with pixels, bands, threads and scenes, beside what `hcube plan --measure` says before the run.

    bench/growth.py HCUBE MAKER OUT.png [--pixels 1e5:1e7] [--bands 4:2000] [--threads 1:2] [--scenes 1:1000] [--memory 500M]

MAKER: the program make_bench_scene. Scenes of uint16 in the temporary folder, `mnf --components 4`; an archive has links to one scene.
Plans and runs alternate, three of each, and the lowest wall time counts. `plan` is the plan over the run; for an archive, the plan of one
scene and the trials of all others. A row ends with OFF where that is more than 20 % away, and with MEMORY where the largest
resident set is above --memory. OUT.png has the plots (Matplotlib).
"""
import argparse, itertools, os, re, shutil, subprocess, tempfile, time
from pathlib import Path

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}


def steps(text, factor):
    first, last = map(float, text.split(":"))
    return [round(first * factor**k) for k in range(40) if first * factor**k < last * 0.999] + [round(last)]


def run(*words):
    """(wall seconds, MiB, output) of a command."""
    began = time.perf_counter()
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = process.stdout.read()
    _, process.returncode, used = os.wait4(process.pid, 0)
    if process.returncode:
        raise SystemExit(" ".join(map(str, words)) + "\n" + text)
    return time.perf_counter() - began, used.ru_maxrss / 1024, text


def row(options, folder, axis, value, pixels, bands, threads, scenes=1):
    scene, archive, out, samples = folder / "scene.img", folder / f"archive{scenes}", folder / "out", min(1000, pixels // 50)
    run(options.maker, scene, pixels // samples, samples, bands)
    archive.mkdir(exist_ok=True)
    for number, ending in itertools.product(range(scenes if scenes > 1 else 0), (".img", ".hdr")):
        os.link(scene.with_suffix(ending), archive / f"s{number}{ending}")
    given = ["--components", "4", "--device", "cpu", "--threads", threads, "--memory", options.memory, "--overwrite"]
    one = ["mnf", scene, folder / "out.img", *given]
    words = ["batch", "mnf", *given, "--scenes", archive, "--output", f"{out}/{{stem}}.img"] if scenes > 1 else one
    took, plans, peaks = [], [], []
    for _ in range(3):
        said = run(options.hcube, "plan", "--measure", *one)[2]
        plan, trial = (float(n) * SECONDS[unit] for n, unit in re.findall(r"(?:time +about|lines in) ([\d.]+) (\w+)", said))
        plans.append(plan + trial * (scenes - 1))
        seconds, mib, _ = run(options.hcube, *words)
        took, peaks = [*took, seconds], [*peaks, mib]
        shutil.rmtree(out, ignore_errors=True)
    s, plan, limit = min(took), min(plans), float(options.memory[:-1]) * {"M": 1, "G": 1024}[options.memory[-1]]
    flags = "OFF " * (abs(plan / s - 1) > 0.2) + "MEMORY" * (max(peaks) > limit)
    found = (axis, value, s / pixels / scenes * 1e9, plan / pixels / scenes * 1e9)
    print(f"| {axis} | {value} | {s:.3f} s | {found[2]:.1f} ns | {plan / s:.2f} | {max(peaks):.0f} MiB | {flags}|")
    return found


def draw(rows, path):
    from matplotlib import pyplot
    axes = list(dict.fromkeys(row[0] for row in rows))
    figure, plots = pyplot.subplots(1, len(axes), figsize=(4 * len(axes), 3.5), layout="constrained")
    for axis, plot in zip(axes, plots):
        _, values, took, said = zip(*(row for row in rows if row[0] == axis))
        plot.loglog(values, took, "o-", values, said, "s--")
        plot.set(xlabel=axis, ylabel="ns a pixel")
        plot.legend(["measured", "plan --measure"])
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("hcube", "maker", "out"):
        parser.add_argument(name, type=lambda path: Path(path).resolve())
    most = os.cpu_count()
    for name, value in {"pixels": "1e5:1e7", "bands": "4:2000", "threads": f"1:{most}", "scenes": "1:1000", "memory": "500M"}.items():
        parser.add_argument("--" + name, default=value)
    options = parser.parse_args()
    print("| axis | value | run | a pixel | plan | peak | |\n" + "|---" * 7 + "|")
    with tempfile.TemporaryDirectory() as name:
        common = options, Path(name)
        rows = [row(*common, "pixels (8 bands)", n, n, 8, most) for n in steps(options.pixels, 10)]
        rows += [row(*common, "bands (50,000 pixels)", n, 50000, n, most) for n in steps(options.bands, 5)]
        rows += [row(*common, "threads (10^6 pixels, 64 bands)", n, 10**6, 64, n) for n in steps(options.threads, 2)]
        rows += [row(*common, "scenes (10,000 pixels, 16 bands)", n, 10000, 16, most, n) for n in steps(options.scenes, 10)]
    draw(rows, options.out)


if __name__ == "__main__":
    main()
