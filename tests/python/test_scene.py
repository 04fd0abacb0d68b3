"""Scenes in memory: the bytes of a run by files, whatever the array looks like, and no file that stays."""

import concurrent.futures
import glob
import os
import signal
import subprocess
import sys
import unittest
import unittest.mock
from pathlib import Path

from support import BANDS, LINES, SAMPLE, SAMPLES, SCENE, Case, good_bands, main, np, scene

import hcube

try:
    import xarray

    import hcube.xarray
except ImportError:
    xarray = None
try:
    import dask.array
except ImportError:
    dask = None


def left():
    return glob.glob("/dev/shm/hcube-python-*")


class Memory(Case):
    def tearDown(self):
        self.assertEqual([folder for folder in left() if f"-{os.getpid()}-" in folder], [])

    def test_the_bytes_of_a_run_by_files(self):
        cube = hcube.read_scene(SCENE)
        for words in ("mnf --components 5", "write --interleave bil", "filter --kind median3x3", "bands 1-7", "rx",
                      "pca --components 3 ! bands 1-2", "read --all-bands ! smooth --points 5"):
            with self.subTest(words=words):
                steps = words.replace("read", f"read '{SCENE}'") if "read" in words else f"read '{SCENE}' ! {words}"
                kept = hcube.run(f"{steps} ! write kept.img" if "write" not in words else
                                 f"read '{SCENE}' ! write kept.img --interleave bil", overwrite=True)
                found = hcube.run(words, scene=cube)
                self.assertEqual(found.array().tobytes(), kept.array().tobytes())
                self.assertEqual(found.outputs, [])
                expected = hcube.read_scene("kept.img")
                for name in ("wavelength_nm", "fwhm_nm", "good", "transform", "nodata"):
                    self.equal(getattr(found.scene, name), getattr(expected, name))
                self.assertEqual((found.scene.crs, found.scene.names), (expected.crs, expected.names))
                self.assertEqual(found.scene.fields, expected.fields)
                self.assertEqual(found.record["pixels"], kept.record["pixels"])

    def test_every_order_type_and_stride(self):
        whole = scene()[:, :, good_bands()]
        for kind in ("u1", "<i2", ">i2", ">u2", "<i4", ">i4", "<u4", "<f4", ">f4", "<f8", ">f8"):
            values = (whole % 256 if kind == "u1" else whole).astype(kind)
            for order in ((0, 1, 2), (2, 0, 1), (0, 2, 1), (1, 0, 2)):
                stored = np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))
                for array, expected in ((stored, values), (stored[::-1, ::-2, ::3], values[::-1, ::-2, ::3])):
                    found = hcube.run("bands 1-3", scene=array).array()
                    self.equal(found, expected[:, :, :3])
        found[0, 0, 0] = 7  # a result can be written

    def test_the_bytes_of_each_type(self):
        for kind in ("u1", "<i2", "<u2", ">u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", "<f4", ">f4", "<f8", ">f8"):
            values = np.ascontiguousarray(scene() % 251 + 1, kind)
            values.tofile("t.img")
            Path("t.hdr").write_text(f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = {BANDS}\ninterleave = bip\ndata type = "
                                     f"{hcube.envi.DATA_TYPES[kind.strip('<>')]}\nbyte order = {int(kind[0] == '>')}\n")
            kept = hcube.run("read t.hdr ! pca --components 2 ! write kept.img", overwrite=True).array()
            found = hcube.run("pca --components 2", scene=values).array()
            self.assertEqual(found.dtype, kept.dtype)
            self.assertTrue(found.tobytes() == kept.tobytes(), kind)

    def test_arrays_that_need_no_copy(self):
        for order in ("bil", "bip", "bsq"):
            shared = hcube.empty((LINES, SAMPLES, BANDS), "u2", order)
            self.equal(shared, np.zeros_like(shared))
            shared[:] = scene()
            exchange = hcube.scene.Exchange(hcube.Scene(shared).checked())
            self.assertEqual(os.path.samestat(os.fstat(exchange.descriptors[0]),
                                              os.fstat(hcube.envi.lies_in(shared)[0].fileno())), True)
            exchange.close()
            parts = (shared, shared[10:20], shared[:, 5:], shared[:, :, 7:9], shared[::-1], shared.astype("f4"), shared.copy())
            for part in parts:
                self.equal(hcube.run("bands 1,2", scene=part).array(), part[:, :, :2])
        first = hcube.run("bands 1-9", scene=shared).scene
        first.values[2:4] += 1  # a result is memory of the program, too
        self.equal(first.bands("2-3").values, first.values[:, :, 1:3])
        with open("a.img", "wb") as file:
            file.write(bytes(17) + scene()[:30].tobytes())
        with open("a.hdr", "w") as file:
            file.write("ENVI\nsamples = 100\nlines = 30\nbands = 64\nheader offset = 17\ndata type = 12\ninterleave = bip\n")
        opened = hcube.read_scene("a.img")
        os.remove("a.img")
        os.remove("a.hdr")
        self.equal(hcube.run("bands 3", scene=opened.values[4:]).array()[:, :, 0], scene()[4:30, :, 2])

    def test_arrays_that_are_copied_again(self):
        """A second copy goes into the memory of the first, and takes none of its values."""
        def kept():
            names = [os.readlink(f"/proc/self/fd/{file}") for file in os.listdir("/proc/self/fd")
                     if os.path.exists(f"/proc/self/fd/{file}")]
            return sum("hcube scene" in name for name in names)

        array = scene().copy()
        for part in (array, array[:7], array[::-1], array.astype("f8"), array[:, :, ::2], array):
            array += 1
            self.equal(hcube.run("bands 1,2", scene=part).array(), part[:, :, :2].astype(part.dtype if part.itemsize < 8 else "f4"))
        first, file = dict(hcube.scene._kept), next(iter(hcube.scene._kept))
        self.assertEqual((len(first), kept()), (1, 1))
        runs = [hcube.start("bands 3", scene=values) for values in (array, array + 5)]  # the second has a file of its own
        self.assertEqual(hcube.scene._kept, {})
        self.assertEqual(kept(), 2)
        for more, run in zip((0, 5), runs):
            self.equal(run.wait().array()[:, :, 0], array[:, :, 2] + more)
        self.assertEqual(list(hcube.scene._kept), [file])
        child = os.fork()
        if child == 0:  # it leaves the memory to its parent
            try:
                self.assertEqual(hcube.scene._kept, {})
                self.assertEqual(hcube.run("bands 1", scene=array * 0).array().max(), 0)
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.equal(np.frombuffer(os.pread(file, array.nbytes, 0), "u2"), array.reshape(-1))
        with self.assertRaises(ZeroDivisionError):
            hcube.run("mnf", scene=array, progress=lambda part, what: 1 / 0)
        self.equal(hcube.run("bands 3", scene=array).array()[:, :, 0], array[:, :, 2])
        del array, part
        self.assertEqual((hcube.scene._kept, kept()), ({}, 0))
        hcube.run("bands 1", scene=scene().tolist())
        self.assertEqual(kept(), 0)

    def test_runs_in_threads(self):
        cube = scene()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda k: hcube.run("bands 1-3 --threads 1", scene=cube + k).array(), range(12)))
        for k, values in enumerate(found):
            self.equal(values, cube[:, :, :3] + k)

    def test_small_and_odd_arrays(self):
        cube = scene()
        locked = cube.copy()
        locked.flags.writeable = False
        unaligned = np.frombuffer(b"." + cube.tobytes(), "u2", offset=1).reshape(cube.shape)
        for array in (cube[:1, :1, :1], cube[:1, :1], cube[:, :1, :1], locked, unaligned, np.broadcast_to(cube[:1], cube.shape),
                      cube[:3].tolist()):
            self.equal(hcube.run("write --all-bands", scene=array).array(), np.asarray(array))
        for words in ("mnf", "pca", "rx", "kmeans --clusters 2", "noise n.json", "filter median3x3", "cov c.json", "endmembers e.sli --count 2",
                      "svd", "smooth --points 5", "destripe", "denoise", "preview p.png", "figure f.png"):
            try:
                hcube.run(words, scene=np.full((1, 1, 1), 7, "u2"), overwrite=True)
            except hcube.Error as error:
                self.assertIn(error.code, (2, 3, 8), f"{words}: {error}")
                self.assertNotIn("\n", str(error))
        full = hcube.Scene(cube, names=np.array([f"b{b}" for b in range(BANDS)]), nodata=np.uint16(3), transform=[0, 1, 0, 0, 0, -1],
                           fields={"reflectance scale factor": 10000, "acquisition": "a\nbands = 3"})
        found = hcube.run("write --all-bands --source-scale apply --type float32", scene=full).scene
        self.assertEqual((found.names[1], found.values.shape), ("b1", cube.shape))
        self.close(found.values[50, 50], cube[50, 50] / 10000, 1e-6)

    def test_what_the_array_lacks(self):
        cube = scene().astype(">f4")
        cube[3:5, 7] = np.nan
        result = hcube.run("write", scene=hcube.Scene(cube, nodata=0))
        self.equal(result.array(), np.nan_to_num(cube, nan=0))  # a masked pixel holds nodata
        self.assertEqual(result.record["pixels"]["masked_nan"], 2)
        self.assertIsNone(result.scene.wavelength_nm)
        place = (331200.0, 30.0, 0.0, 5563500.0, 0.0, -30.0)
        full = hcube.Scene(scene(), np.linspace(0.4, 2.5, BANDS) * 1000, transform=place, good=np.arange(BANDS) != 3,
                           crs=hcube.read_scene(SCENE).crs.replace(",", ",\n  "), names=[f"b{{{b}, " for b in range(BANDS)])
        found = hcube.run("write --all-bands", scene=full).scene
        self.close(found.wavelength_nm, full.wavelength_nm, 1e-12)
        self.equal(found.good, full.good)
        self.assertEqual((found.transform, found.names[1]), (place, "b 1"))
        self.assertIn("UTM", found.crs)

    def test_stages_are_methods(self):
        cube = hcube.read_scene(SCENE)
        kept = hcube.run(["mnf", SCENE, "kept.img"], components=3).array()
        found = cube.mnf(components=3)
        self.assertIsInstance(found, hcube.Scene)
        self.equal(found.values, kept)
        self.equal(cube.filter("median3x3").bands("2,1").values.shape, (LINES, SAMPLES, 2))
        self.equal(cube.svd(side=8, tiled=True, output="dimension").values.shape[2], 1)
        self.assertEqual(cube.cov("c.json", sums=True).outputs, [Path("c.json").absolute()])
        self.refused(AttributeError, "no stage mmf", lambda: cube.mmf)

    def test_stages_that_write_files(self):
        cube = hcube.read_scene(SCENE)
        result = hcube.run("cov here.json", scene=cube)
        self.assertEqual((result.outputs, result.scene), ([Path("here.json").absolute()], None))
        self.close(hcube.read_statistics("here.json").mean, scene().reshape(-1, BANDS)[:, good_bands()]
                   [scene().reshape(-1, BANDS).any(axis=1)].mean(axis=0), 1e-12)
        for words, options in (("mnf --fit-only --save-model a.json", {}), ("rx ! mnf --fit-only --save-model b.json", {}),
                               ("mnf", {"fit_only": True, "save_model": "c.json"})):
            result = hcube.run(words, scene=cube, **options)
            self.assertEqual((result.scene, result.outputs[-1].suffix), (None, ".json"))
        result = hcube.run("noise n.json ! mnf --components 2 ! write mine.img", scene=cube)
        self.assertEqual(([path.name for path in result.outputs], result.scene), (["n.json", "mine.img"], None))
        self.assertEqual(result.array().shape, (LINES, SAMPLES, 2))
        listed = hcube.run(["mnf", "--components", 2, "!", "preview", "p q.png"], scene=cube)
        self.assertTrue(os.path.getsize("p q.png") > 0)
        self.assertIsNone(listed.scene)

    def test_what_cannot_be_read(self):
        cube = scene()
        few = {"wavelength_nm": np.linspace(400, 2500, BANDS)}
        holes = few["wavelength_nm"].copy()
        holes[5] = np.nan
        for part, given in (
            ("dtype object", cube.astype(object)),
            ("dtype complex64", cube.astype("c8")),
            ("dtype float16", cube.astype("f2")),
            ("dtype bool", cube > 3),
            ("shape (1, 100, 100, 64)", cube[None]),
            ("shape (100, 100)", cube[:, :, 0]),
            ("shape (100, 100, 0)", cube[:, :, :0]),
            ("dtype <U4", "text"),
            ("masked array", np.ma.masked_equal(cube, 0)),
            ("wavelength_nm: nan at band 5 (from 0)", hcube.Scene(cube, holes)),
            ("wavelength_nm: shape (63,) for 64 bands", hcube.Scene(cube, few["wavelength_nm"][1:])),
            ("wavelength_nm: ['red', 'red'", hcube.Scene(cube, ["red"] * BANDS)),
            ("wavelength_nm: array([1.+1.j", hcube.Scene(cube, np.full(BANDS, 1 + 1j))),
            ("wavelength_nm: nan at band 3", hcube.Scene(cube, np.ma.masked_equal(np.arange(1, BANDS + 1), 4))),
            ("wavelength_nm: inf at band 0", hcube.Scene(cube, np.full(BANDS, np.inf))),
            ("shape ()", 3.0),
            ("shape (0, 100, 64)", cube[:0]),
            ("dtype int8", cube.astype("i1")),
            ("dtype datetime64", cube.astype("M8[s]")),
            ("rows of different length", [[[1, 2], [3]]]),
            ("nodata: 'none': not of numbers", hcube.Scene(cube, nodata="none")),
            ("nodata: 1j", hcube.Scene(cube, nodata=1j)),
            ("nodata: 2 values", hcube.Scene(cube, nodata=[0, 1])),
            ("crs: 32610: not a text", hcube.Scene(cube, crs=32610)),
            ("fields: None: not a dict", hcube.Scene(cube, fields=None)),
            ("transform: ('a',", hcube.Scene(cube, transform=("a",) * 6)),
            ("not six finite numbers", hcube.Scene(cube, transform=3)),
            ("fwhm_nm: -1.0 at band 0", hcube.Scene(cube, fwhm_nm=-np.ones(BANDS))),
            ("good: shape (2,)", hcube.Scene(cube, good=[True, False])),
            ("names: 1 for 64", hcube.Scene(cube, names=["a"])),
            ("not six finite numbers", hcube.Scene(cube, transform=(0, 1, 0, 0, 0, np.nan))),
            ("the grid is turned", hcube.Scene(cube, transform=(0, 1, 1, 0, 1, -1))),
        ):
            with self.subTest(part=part):
                self.refused(ValueError, part, hcube.run, "mnf", scene=given)

    def test_wrong_headers(self):
        start = "ENVI\nsamples = 1\nlines = 1\nbands = 1\ndata type = 1\ninterleave = bsq\n"
        Path("w.img").write_bytes(b"1")
        for line in ("map info = {UTM, x, 1, 2, 3, 4, 5}", "map info = {UTM, 1, 1, 2, 3, 4, 5, rotation}", "bbl = {a}"):
            with self.subTest(line=line):
                Path("w.hdr").write_text(start + line)
                part = "w.img: " + line.replace("{", "").replace("}", "") if "map" in line else "w.img: bbl = ['a']"
                self.refused(hcube.FileError, part, hcube.read_scene, "w.img")
        Path("w.hdr").write_text(start + "map info = Arbitrary")
        self.assertIsNone(hcube.read_scene("w.img").transform)

    def test_comments_and_quotes(self):
        hcube.run("read ! write 'a #1.img' # with 'a comment", scene=scene())
        self.assertTrue(os.path.isfile("a #1.img"))
        found = hcube.run("# first\n bands 1-9 # the\n ! bands 1-2 # last", scene=scene())
        self.assertEqual(found.array().shape[2], 2)
        hcube.run(f"""read '{SCENE}' ! write "b #\\"1.img" # "last""")
        self.assertTrue(os.path.isfile('b #"1.img'))

    def test_errors_have_code_and_line(self):
        error = self.refused(hcube.Error, "--components 0", hcube.run, "mnf --components 0", scene=scene())
        self.assertEqual(error.code, 2)
        self.assertIsNone(error.result.scene)
        self.refused(hcube.Error, "mmf", hcube.run, "mmf", scene=scene())
        self.refused(ValueError, "no chain", hcube.run, " ", scene=scene())

    def test_progress_is_called(self):
        parts = []
        hcube.run("mnf", scene=scene(), progress=lambda part, what: parts.append((part, what)), components=2)
        self.assertEqual(parts, sorted(parts, key=lambda part: part[0]))
        self.assertEqual((parts[-1][0], {what for _, what in parts}), (1.0, {"mnf", "writing"}))

        def fails(part, what):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            hcube.run("mnf", scene=scene(), progress=fails)

    def test_a_killed_python_leaves_nothing_for_the_next(self):
        program = ("import os, signal, sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); import hcube, numpy; "
                   "hcube.start('mnf', scene=numpy.ones((300, 300, 50), 'f4')); os.kill(os.getpid(), signal.SIGKILL)")
        killed = subprocess.run([sys.executable, "-c", program, str(Path(hcube.__file__).parents[1])])
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        hcube.run("bands 1", scene=scene())
        for folder in left():
            self.assertTrue(os.path.exists("/proc/" + folder.split("-")[2]), folder)

    def test_a_run_of_another_container_stays(self):
        with unittest.mock.patch("os.getpid", return_value=1 << 23):  # a number that no process of ours has
            exchange = hcube.scene.Exchange(hcube.scene.as_scene(scene()))
        hcube.run("bands 1", scene=scene())
        self.assertTrue(exchange.scene.is_file())
        exchange.close()
        self.assertFalse(exchange.folder.exists())

    def test_a_cancelled_run(self):
        with hcube.start("mnf", scene=np.ones((300, 300, 50), "f4")) as run:
            run.cancel()
        self.assertIsNone(run.result.scene)


class Tables(Case):
    def test_a_table(self):
        hcube.run(["noise", SCENE, "n.json"], csv="n.csv")
        found = hcube.read_table("n.csv")
        self.equal(found["wavelength_nm"], hcube.read_scene(SCENE).wavelength_nm[good_bands()])
        self.assertEqual(found["noise"].dtype, float)
        Path("t.csv").write_text("# a\nname,x\n'=1,\nb,NA\n")
        found = hcube.read_table("t.csv")
        self.assertEqual(found["name"], ["=1", "b"])
        self.assertTrue(np.isnan(found["x"]).all())
        Path("t.csv").write_text("a,b\n1\n")
        self.refused(hcube.FileError, "t.csv: no table", hcube.read_table, "t.csv")

    def test_members_and_keys(self):
        hcube.run(["pca", SCENE, "p.img"], save_model="m.json", components=2)
        model = hcube.read_model("m.json")
        self.assertIs(model["mean"], model.mean)
        self.assertEqual((model["hcube_model"], model.method), (1, "pca"))
        with self.assertRaises(KeyError):
            model["nothing"]


@unittest.skipIf(xarray is None, "xarray was not found")
class Labelled(Case):
    def test_any_order_of_dimensions(self):
        cube = hcube.read_scene(SCENE)
        data = hcube.xarray.data_of(cube)
        self.equal(data.coords["x"][:2], [331215, 331245])
        kept = hcube.run(["mnf", SCENE, "kept.img"], components=4).array()
        for dims in (("y", "x", "band"), ("band", "y", "x"), ("x", "band", "y")):
            found = data.transpose(*dims).hcube.mnf(components=4)
            self.assertEqual(found.dims, dims)
            self.equal(found.transpose("y", "x", "band"), kept)
        self.equal(found.coords["y"], data.coords["y"])
        self.assertEqual(found.coords["spatial_ref"].attrs["crs_wkt"], cube.crs)
        self.assertTrue(np.isnan(found.attrs["_FillValue"]))
        clean = data.hcube.bands(wavelength="500-700")
        self.assertTrue(((clean.wavelength >= 500) & (clean.wavelength <= 700)).all())
        self.assertIn("fwhm", clean.coords)
        half = data.hcube.run("read --window 10,20,30,40 ! bands 1")
        self.equal(half.coords["y"], data.coords["y"][20:60])

    def test_what_is_no_scene(self):
        self.refused(ValueError, "dimensions ('a', 'b', 'c')", hcube.run, "mnf",
                     scene=xarray.DataArray(scene(), dims=("a", "b", "c")))
        self.refused(AttributeError, "no stage mmf", lambda: xarray.DataArray(scene()).hcube.mmf)
        data = xarray.DataArray(scene(), {"wavelength": ("band", np.full(BANDS, np.nan))}, ("y", "x", "band"))
        self.refused(ValueError, "nan at band 0", hcube.run, "mnf", scene=data)
        for unit, part in (("m", "wavelength: units m"), (3, "wavelength: units 3")):
            data = xarray.DataArray(scene(), {"wavelength": ("band", np.ones(BANDS), {"units": unit})}, ("y", "x", "band"))
            self.refused(ValueError, part, hcube.run, "mnf", scene=data)
        data = xarray.DataArray(scene(), {"wavelength": ("band", ["a"] * BANDS)}, ("y", "x", "band"))
        self.refused(ValueError, "wavelength_nm: array(['a'", hcube.run, "mnf", scene=data)
        self.refused(ValueError, "a Dataset", hcube.run, "mnf", scene=data.to_dataset(name="a"))
        for name in ("hcube_fields", "_FillValue"):
            data = xarray.DataArray(scene(), dims=("y", "x", "band"), attrs={name: "x"})
            self.refused(ValueError, name.strip("_").replace("hcube_fields", "fields").replace("FillValue", "nodata"),
                         hcube.run, "mnf", scene=data)
        for coords in ({"x": [f"c{s}" for s in range(SAMPLES)]}, {"x": np.arange(SAMPLES).astype("M8[D]")}, {"x": np.arange(SAMPLES) ** 2}):
            data = xarray.DataArray(scene(), coords, ("y", "x", "band"))
            self.equal(data.hcube.run("write --all-bands").values, scene())
        micro = xarray.DataArray(scene(), {"wavelength": ("band", np.linspace(0.4, 2.5, BANDS), {"units": "um"})},
                                 ("y", "x", "band"))
        self.close(hcube.run("write", scene=micro).scene.wavelength_nm, np.linspace(400, 2500, BANDS), 1e-12)


@unittest.skipIf(dask is None, "dask was not found")
class Blocks(Case):
    def test_a_saved_model_by_blocks(self):
        cube = hcube.read_scene(SCENE)
        whole = hcube.run("mnf --components 4 --save-model model.json", scene=cube).array()
        blocks = dask.array.from_array(cube.values, (40, 30, BANDS))
        words = ["mnf", "--model", os.path.abspath("model.json"), "--components", 4]
        found = hcube.map_blocks(blocks, words, 4, like=cube)
        self.assertEqual((found.shape, found.dtype), (whole.shape, np.float32))
        self.equal(found.compute(), whole)
        self.refused(ValueError, "one chunk", hcube.map_blocks, blocks.rechunk({2: 10}), words, 4)
        wrong = hcube.map_blocks(blocks, words, 5, like=cube)
        self.refused(ValueError, "the result has 4 of float32", wrong.compute)


if __name__ == "__main__":
    main()
