"""How close denoised scenes come to their truth: the tables of docs/stages/denoise.md, svd.md and unmix.md.

    HCUBE_DATA=scenes python3 bench/compare/denoising.py HCUBE svd|denoise|correlated|stripes|columns|masked|gain|claims|map|unmix|levels...
         [--seeds 19 20] [--kinds white stripes ...] [--options "--noise trimmed"]

Adds noise of fixed seeds to real scenes and to DC1 (which count as noiseless), runs hcube, and prints a table in Markdown. Errors
are those of `hcube compare`; where there are several seeds, their mean. A scene that HCUBE_DATA lacks is left out.

svd, denoise  white noise of 20 and 30 dB, the same standard deviation in all bands: SRE [dB] of what a chain makes of it
correlated    the same of noise that is a moving average over two bands (weights 1 and 0.8)
stripes       white noise, and stripes: a normal number for each column and band, half, once or twice as large as the noise, in all
              columns or in a tenth of them. SRE [dB] of the input, of `denoise` and of `denoise --stripes`
columns       white noise whose deviation differs between columns: as a number from 0.5 to 2 for each (uniform logarithm), smoothly between
              these, or four times as large in a tenth of them. SRE [dB] of `denoise` and of `denoise --columns 1`
gain          what `denoise` announces in its record, and by how much the error fell [dB]; "handed on" where nothing is done. With
              --freed the scenes lose their own noise first (`denoise --noise regression`), so that none counts as truth
claims        scenes without noise of their own (truncated singular value decompositions) and eight kinds of noise: announced and true gain
              [dB], and the map over the true error; "-" where nothing is announced. A cell that misses its goal has a "!"
map           root mean square of `denoise --sigma-map` over that of the true error, and the correlation of both over the pixels,
              with the true error averaged over the 9 x 9 pixels of the map
unmix         DC1 of 20, 30 and 40 dB: SRE and RMSE of its abundances, as it is and denoised
masked        `denoise` and `denoise --method patches` of scenes whose pixels are masked at random, three in ten: SRE [dB] of the others
levels        DC1 of 20 and 30 dB, whose noise differs between columns or goes smoothly over the scene: SRE of its abundances with one
              lambda, and with `unmix --noise-map`
"""
import argparse, json, os, re, subprocess, tempfile
from pathlib import Path

import numpy as np

from envi import read_envi, write_envi

SCENES = {
    "Jasper": "jasper-ridge/jasper_r198.img",
    "Samson": "samson/samson.img",
    "DC1": "dc1/dc1_clean.img",
    "Salinas A": "salinas-a/salinas_a.img",
    "HYDICE Urban": "hydice-urban/hydice_urban.img",
    "AVIRIS": "aviris-crop/aviris_crop.img",
}
REDUCED = "pca --components 20 ! svd --noise {noise} ! pca --inverse"
CHAINS = {
    "svd": [
        "svd", "svd --side 4", "svd --side 6", "svd --side 12", "svd --side 16", "svd --step 2",
        "svd --noise estimate --side 8", "svd --noise estimate", "svd --noise estimate --side 24", "svd --noise SIGMA",
        REDUCED.format(noise="estimate"), REDUCED.format(noise="SIGMA"),
    ],
    "denoise": [
        "denoise", "denoise --method patches", "denoise --method subspace", "denoise --side 16", "denoise --side 6",
        "denoise --noise regression",
    ],
    "correlated": ["denoise", "denoise --noise trimmed", "denoise --noise spatial-spectral"],
    "map": ["denoise", "denoise --method patches", "denoise --method subspace"],
}
UNMIXED = ["", "denoise !", "denoise --method patches !", "denoise --method subspace !"]
LEVELLED = ["", "denoise ! ", "denoise --components hfc ! ", "denoise --columns 1 ! "]
LAMBDAS = ["auto", "0", "1e-4", "2e-4", "3e-4", "5e-4", "0.001", "0.002", "0.003", "0.005", "0.01", "0.03", "0.1", "0.3"]


class Hcube:
    def __init__(self, program, folder):
        self.program, self.folder = str(Path(program).resolve()), folder

    def run(self, words):
        done = subprocess.run([self.program] + words, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit("hcube " + " ".join(words) + "\n" + done.stderr)
        return done

    def chain(self, scene, steps, out):
        self.run(["run", "read", scene, "!"] + steps.split() +
                 ["!", "write", out, "--overwrite"])

    def figures(self, found, truth):
        self.run(["compare", found, truth, "--no-ssim", "--json", "figures.json", "--overwrite"])
        return json.loads((self.folder / "figures.json").read_text())


def add_noise(clean, snr, seed, correlated=False):
    """The noisy scene, and the standard deviation of its noise."""
    sigma = np.sqrt(np.mean(clean**2) / 10 ** (snr / 10))
    lines, samples, bands = clean.shape
    noise = np.random.default_rng(seed).normal(0, 1, (lines, samples, bands + correlated))
    if correlated:
        noise = (noise[..., 1:] + 0.8 * noise[..., :-1]) / np.hypot(1, 0.8)
    return clean + sigma * noise, sigma


def add_stripes(noisy, sigma, size, share, seed):
    """Adds a term for each column and band, of that root mean square in units of the noise."""
    samples, bands = noisy.shape[1:]
    random = np.random.default_rng(seed + 1000)
    term = random.normal(0, 1, (samples, bands)) * (random.permutation(samples)[:, None] < share * samples)
    term -= term.mean(axis=0)
    return noisy + sigma * size / np.sqrt(np.mean(term**2)) * term


def stripes(hcube, scenes, seeds, levels):
    print("| scene, SNR of the noise | stripes | input | `denoise` | `denoise --stripes` |\n|---|---|---|---|---|")
    for name in scenes:
        clean = read_envi(scenes[name])
        clean = clean[..., np.ptp(clean, axis=(0, 1)) > 0]
        write_envi(hcube.folder / "clean.img", clean)
        for snr in levels:
            for size, share in ((0, 1), (0.5, 1), (1, 1), (2, 1), (0.5, 0.1), (2, 0.1)):
                cells = []
                for seed in seeds:
                    noisy, sigma = add_noise(clean, snr, seed)
                    write_envi(hcube.folder / "noisy.img", add_stripes(noisy, sigma, size, share, seed))
                    found = [hcube.figures("noisy.img", "clean.img")["sre_db"]]
                    for chain in ("denoise", "denoise --stripes"):
                        hcube.chain("noisy.img", chain, "out.img")
                        found.append(hcube.figures("out.img", "clean.img")["sre_db"])
                    cells.append(found)
                what = "none" if size == 0 else "%g%s" % (size, "" if share == 1 else ", a tenth of the columns")
                print("| %s, %d dB | %s | " % (name, snr, what) + " | ".join("%.2f" % v for v in np.mean(cells, axis=0)) + " |",
                      flush=True)


def level_of(kind, samples, seed):
    """A level of noise for each column, with the mean square 1."""
    random = np.random.default_rng(seed + 500)
    if kind == "uniform":
        level = 2.0 ** random.uniform(-1, 1, samples)
    elif kind == "smooth":
        level = 2.0 ** np.sin(2 * np.pi * np.arange(samples) / samples)
    else:
        level = np.where(random.permutation(samples) < 0.1 * samples, 4.0, 1.0)
    return level / np.sqrt(np.mean(level**2))


def columns(hcube, scenes, seeds, snrs):
    kinds = {"even": "even", "uniform": "0.5 to 2", "smooth": "0.5 to 2, smooth", "tenth": "4 in a tenth"}
    print("| scene, SNR of the noise | " + " | ".join(kinds.values()) + " |\n|---|---|---|---|---|")
    for name in scenes:
        clean = read_envi(scenes[name])
        clean = clean[..., np.ptp(clean, axis=(0, 1)) > 0]
        write_envi(hcube.folder / "clean.img", clean)
        for snr in snrs:
            cells = {}
            for kind in kinds:
                for seed in seeds:
                    level = 1 if kind == "even" else level_of(kind, clean.shape[1], seed)[None, :, None]
                    noisy, _ = add_noise(clean, snr, seed)
                    write_envi(hcube.folder / "noisy.img", clean + level * (noisy - clean))
                    found = []
                    for chain in ("denoise", "denoise --columns 1"):
                        hcube.chain("noisy.img", chain, "out.img")
                        found.append(hcube.figures("out.img", "clean.img")["sre_db"])
                    cells.setdefault(kind, []).append(found)
            print("| %s, %d dB | " % (name, snr) +
                  " | ".join("%.1f, %.1f" % tuple(np.mean(found, axis=0)) for found in cells.values()) + " |", flush=True)


def masked(hcube, scenes, seeds, snrs):
    print("| scene, SNR of the noise | `denoise` | `denoise --method patches` |\n|---|---|---|")
    for name in scenes:
        clean = read_envi(scenes[name])
        clean = clean[..., np.ptp(clean, axis=(0, 1)) > 0]
        for snr in snrs:
            cells = []
            for seed in seeds:
                kept = np.random.default_rng(seed + 2000).uniform(size=clean.shape[:2]) >= 0.3
                write_envi(hcube.folder / "noisy.img", np.where(kept[..., None], add_noise(clean, snr, seed)[0], np.nan))
                write_envi(hcube.folder / "clean.img", np.where(kept[..., None], clean, np.nan))
                found = []
                for chain in ("denoise", "denoise --method patches"):
                    hcube.chain("noisy.img", chain, "out.img")
                    found.append(hcube.figures("out.img", "clean.img")["sre_db"])
                cells.append(found)
            print("| %s, %d dB | " % (name, snr) + " | ".join("%.2f" % v for v in np.mean(cells, axis=0)) + " |", flush=True)


def gain(hcube, scenes, seeds, levels, freed):
    print("| scene, SNR of the input | groups: announced, true | patches | subspace |\n|---|---|---|---|")
    for name in scenes:
        clean = read_envi(scenes[name])
        clean = clean[..., np.ptp(clean, axis=(0, 1)) > 0]
        write_envi(hcube.folder / "clean.img", clean)
        if freed and name != "DC1":
            hcube.chain("clean.img", "denoise --noise regression", "freed.img")
            clean = read_envi(hcube.folder / "freed.img")
            write_envi(hcube.folder / "clean.img", clean)
        for snr in levels:
            cells = {}
            for seed in seeds:
                write_envi(hcube.folder / "noisy.img", add_noise(clean, snr, seed)[0])
                before = hcube.figures("noisy.img", "clean.img")["sre_db"]
                for method in ("groups", "patches", "subspace"):
                    hcube.run(["denoise", "noisy.img", "out.img", "--method", method, "--overwrite"])
                    record = json.loads((hcube.folder / "out.img.hcube.json").read_text())["steps"][1]["result"]
                    announced = 0 if record["handed_on"] else record["expected_gain_db"]
                    cells.setdefault(method, []).append((announced, hcube.figures("out.img", "clean.img")["sre_db"] - before))
            print("| %s, %d dB | " % (name, snr) + " | ".join(
                "handed on" if not np.any(found) else "%.1f, %.1f" % tuple(np.mean(found, axis=0)) for found in cells.values()) + " |",
                  flush=True)


RANKS = {"Jasper": 12, "Samson": 8, "Salinas A": 12, "HYDICE Urban": 12, "AVIRIS": 8, "DC1": 5}
KINDS = ["white", "bands", "signal", "stripes", "impulses", "dead", "correlated", "neighbours"]


def truncated(scene, rank):
    """The best approximation of that rank, and without constant bands."""
    scene = scene[..., np.ptp(scene, axis=(0, 1)) > 0]
    spectra = scene.reshape(-1, scene.shape[2])
    vectors = np.linalg.eigh(spectra.T @ spectra)[1][:, -rank:]
    return (spectra @ vectors @ vectors.T).reshape(scene.shape)


def spoil(clean, kind, snr, seed):
    """The scene with noise of that kind: white noise of the SNR with defects, or all of the noise has the SNR.

    bands: a deviation for each band, from 1/3 to 3 (uniform logarithm). signal: variance in proportion to the value. stripes: half of
    the power. impulses: 0.5 % of the values become 0 or the largest of their band. dead: 1 % of the pixels become 0. correlated: a
    moving average over two bands. neighbours: over 3 x 3 pixels, with the weights 1, 2, 1."""
    random = np.random.default_rng(seed)
    lines, samples, bands = clean.shape
    white = random.normal(0, 1, clean.shape)
    noise = white
    if kind == "bands":
        noise = white * 3 ** random.uniform(-1, 1, bands)
    elif kind == "signal":
        noise = white * np.sqrt(np.maximum(clean, 0))
    elif kind == "stripes":
        noise = white + random.normal(0, 1, (1, samples, bands))
    elif kind == "correlated":
        noise = white + 0.8 * np.concatenate([random.normal(0, 1, (lines, samples, 1)), white[..., :-1]], axis=2)
    elif kind == "neighbours":
        wide = random.normal(0, 1, (lines + 2, samples + 2, bands))
        wide = wide[:-2] + 2 * wide[1:-1] + wide[2:]
        noise = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    noisy = clean + noise * np.sqrt(np.mean(clean**2) / 10 ** (snr / 10) / np.mean(noise**2))
    if kind == "impulses":
        where = random.uniform(size=clean.shape) < 0.005
        noisy = np.where(where, clean.max(axis=(0, 1)) * random.integers(0, 2, clean.shape), noisy)
    elif kind == "dead":
        noisy[random.uniform(size=(lines, samples)) < 0.01] = 0
    return noisy


def claims_cell(hcube, clean, words):
    """Announced gain, true gain, map over true error; NaN: nothing is announced."""
    error = lambda found: np.sqrt(np.mean((read_envi(hcube.folder / found) - clean) ** 2))
    hcube.run(["denoise", "noisy.img", "out.img", "--overwrite"] + words)
    record = json.loads((hcube.folder / "out.img.hcube.json").read_text())["steps"][1]["result"]
    said = record.get("expected_gain_db")
    said = np.nan if said is None else 0 if record["handed_on"] else said
    try:
        hcube.run(["denoise", "noisy.img", "map.img", "--sigma-map", "--overwrite"] + words)
        ratio = np.sqrt(np.mean(read_envi(hcube.folder / "map.img") ** 2)) / error("out.img")
    except SystemExit: # the error is not known
        ratio = np.nan
    return said, 20 * np.log10(error("noisy.img") / error("out.img")), ratio


def claims(hcube, scenes, seeds, snrs, kinds, words):
    columns = [(kind, snr) for kind in kinds for snr in snrs]
    missed = 0
    print("| scene | " + " | ".join("%s %d" % column for column in columns) + " |\n|---" + "|---" * len(columns) + "|")
    for name in scenes:
        clean = truncated(read_envi(scenes[name]), RANKS[name])
        cells = []
        for kind, snr in columns:
            found = []
            for seed in seeds:
                write_envi(hcube.folder / "noisy.img", spoil(clean, kind, snr, seed))
                found.append(claims_cell(hcube, clean, words))
            said, true, ratio = np.mean(found, axis=0)
            silent = kind not in ("white", "bands")
            good = true >= -0.1 and (silent and np.isnan(said) or abs(said - true) <= 2)
            good = good and (silent and np.isnan(ratio) or 0.8 <= ratio <= 1.25)
            missed += not good
            write = lambda value, form: "-" if np.isnan(value) else form % value
            cells.append("%s, %.1f, %s%s" % (write(said, "%.1f"), true, write(ratio, "%.2f"), "" if good else " !"))
        print("| %s | " % name + " | ".join(cells) + " |", flush=True)
    print("\n%d of %d cells miss the goal" % (missed, len(scenes) * len(columns)))


def mean9(error):
    """The mean of 9 x 9 pixels, of those that are there."""
    shape, around = error.shape, []
    for values in (error, np.ones(shape)):
        wide = np.pad(values, 4)
        around.append(sum(wide[i : i + shape[0], j : j + shape[1]] for i in range(9) for j in range(9)))
    return around[0] / around[1]


def map_cell(hcube, clean, chain):
    hcube.chain("noisy.img", chain, "out.img")
    hcube.chain("noisy.img", chain + " --sigma-map", "map.img")
    error = np.mean((read_envi(hcube.folder / "out.img") - clean) ** 2, axis=2)
    expected = read_envi(hcube.folder / "map.img")[..., 0] ** 2
    return np.array([np.sqrt(expected.mean() / error.mean()), np.corrcoef(np.sqrt(expected).ravel(), np.sqrt(mean9(error)).ravel())[0, 1]])


def table(hcube, name, scenes, seeds, levels=(20, 30)):
    columns = [(scene, snr) for scene in scenes for snr in levels]
    cells = {chain: {} for chain in CHAINS[name]}
    for scene, snr in columns:
        clean = read_envi(scenes[scene])
        clean = clean[..., np.ptp(clean, axis=(0, 1)) > 0]
        write_envi(hcube.folder / "clean.img", clean)
        for seed in seeds:
            noisy, sigma = add_noise(clean, snr, seed, name == "correlated")
            write_envi(hcube.folder / "noisy.img", noisy)
            for chain in CHAINS[name]:
                if name == "map":
                    value = map_cell(hcube, clean, chain)
                else:
                    hcube.chain("noisy.img", chain.replace("SIGMA", repr(float(sigma))), "out.img")
                    value = np.array([hcube.figures("out.img", "clean.img")["sre_db"]])
                cells[chain].setdefault((scene, snr), []).append(value)
    print("| steps | " + " | ".join("%s %d" % column for column in columns) + " |\n|---" + "|---" * len(columns) + "|")
    for chain in CHAINS[name]:
        means = (np.mean(cells[chain][column], axis=0) for column in columns)
        print("| `%s` | " % chain + " | ".join(", ".join("%.2f" % v for v in mean) for mean in means) + " |", flush=True)


def dc1(hcube, data):
    """The clean scene and the path of its library; truth.img has its abundances."""
    clean = read_envi(data / SCENES["DC1"])
    active = read_envi(data / "dc1/dc1_abundance_active.img")
    names = (data / "dc1/dc1_abundance_active.hdr").read_text().split("band names")[1]
    numbers = [int(number) for number in re.findall(r"(?:\{|,)\s*(\d+) ", names)]
    truth = np.zeros(active.shape[:2] + (240,))
    truth[..., np.array(numbers) - 1] = active
    write_envi(hcube.folder / "truth.img", truth)
    return clean, str((data / "dc1/dc1_library.sli").resolve())


def levels(hcube, data, seeds):
    clean, library = dc1(hcube, data)
    lines, samples = clean.shape[:2]
    turn = lambda n: 2 * np.pi * np.arange(n) / n
    kinds = {"columns": np.exp(np.random.default_rng(5).normal(0, 0.6, (1, samples))) * np.ones((lines, 1)),
             "smooth": np.exp(np.sin(turn(lines))[:, None] + np.cos(turn(samples))[None, :])}
    maps = {"one lambda": "", "`--noise-map`, the true noise": "--noise-map true.img",
            "`--noise-map`, of `noise --columns 1`": "--noise-map columns.json"}
    cells = {}
    for snr in (20, 30):
        for kind, level in kinds.items():
            level = level / np.sqrt(np.mean(level**2))
            sigma = np.sqrt(np.mean(clean**2) / 10 ** (snr / 10))
            write_envi(hcube.folder / "true.img", sigma * level[..., None])
            for seed in seeds:
                noise = np.random.default_rng(seed).normal(0, sigma, clean.shape)
                write_envi(hcube.folder / "noisy.img", clean + level[..., None] * noise)
                hcube.run("noise noisy.img columns.json --columns 1 --overwrite --record none".split())
                for before in LEVELLED:
                    for name, words in maps.items():
                        found = []
                        for value in LAMBDAS:
                            if value != "0":
                                hcube.chain("noisy.img", "%sunmix --library %s --lambda %s %s" % (before, library, value, words),
                                            "out.img")
                                found.append(hcube.figures("out.img", "truth.img")["sre_db"])
                        cells.setdefault((before, name, snr, kind), []).append((found[0], max(found[1:])))
    columns = [(snr, kind) for snr in (20, 30) for kind in kinds]
    print("| steps | " + " | ".join("%d dB, %s: auto, best" % column for column in columns) + " |\n|---" + "|---" * len(columns) + "|")
    for before in LEVELLED:
        for name in maps:
            means = [np.mean(cells[before, name, *column], axis=0) for column in columns]
            print("| `%sunmix`, %s | " % (before, name) + " | ".join("%.2f, %.2f" % tuple(mean) for mean in means) + " |", flush=True)


def unmix(hcube, data, seeds):
    clean, library = dc1(hcube, data)
    print("| steps | " + " | ".join("%d dB: SRE, RMSE, lambda" % snr for snr in (20, 30, 40)) + " |\n|---|---|---|---|")
    rows = {}
    for snr in (20, 30, 40):
        for seed in seeds:
            write_envi(hcube.folder / "noisy.img", add_noise(clean, snr, seed)[0])
            for before in UNMIXED:
                for value in LAMBDAS + ["sum-to-one"]:
                    price = "--sum-to-one" if value == "sum-to-one" else "--lambda " + value
                    steps = (before + " unmix --library %s %s" % (library, price)).strip()
                    hcube.chain("noisy.img", steps, "out.img")
                    found = hcube.figures("out.img", "truth.img")
                    rows.setdefault((before, value, snr), []).append((found["sre_db"], found["rmse"]))
    for before in UNMIXED:
        for label in ("auto", "0", "best", "sum-to-one"):
            cells = []
            for snr in (20, 30, 40):
                means = {value: np.mean(rows[before, value, snr], axis=0) for value in LAMBDAS}
                value = max(LAMBDAS[1:], key=lambda v: means[v][0]) if label == "best" else label
                cells.append("%.2f, %.4f, %s" % (*means[value], value))
            price = label if label == "sum-to-one" else "lambda " + (label.upper() if label == "best" else label)
            print("| `%sunmix --%s` | " % (before + " " if before else "", price) + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("tables", nargs="+", choices=[*CHAINS, "stripes", "columns", "masked", "gain", "claims", "unmix", "levels"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[19])
    parser.add_argument("--scenes", nargs="+", default=["Jasper", "Samson", "DC1"], choices=list(SCENES))
    parser.add_argument("--snr", nargs="+", type=int, default=[20, 30])
    parser.add_argument("--freed", action="store_true")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--options", default="")
    options = parser.parse_args()
    if "HCUBE_DATA" not in os.environ:
        parser.error("set HCUBE_DATA to the folder of the scenes")
    data = Path(os.environ["HCUBE_DATA"])
    scenes = {name: data / SCENES[name] for name in options.scenes if (data / SCENES[name]).exists()}
    with tempfile.TemporaryDirectory() as folder:
        hcube = Hcube(options.program, Path(folder))
        for name in options.tables:
            print("\n%s\n" % name)
            if name == "stripes":
                stripes(hcube, scenes, options.seeds, options.snr)
            elif name == "masked":
                masked(hcube, scenes, options.seeds, options.snr)
            elif name == "columns":
                columns(hcube, scenes, options.seeds, options.snr)
            elif name == "gain":
                gain(hcube, scenes, options.seeds, options.snr, options.freed)
            elif name == "claims":
                claims(hcube, scenes, options.seeds, options.snr, options.kinds, options.options.split())
            elif name in ("unmix", "levels"):
                {"unmix": unmix, "levels": levels}[name](hcube, data, options.seeds)
            else:
                table(hcube, name, scenes, options.seeds, options.snr)


main()
