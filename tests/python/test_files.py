"""Files of hcube as arrays: each is compared with the scene, the raw bytes or a plain computation in float64."""

import json

from support import BANDS, LINES, SAMPLE, SAMPLES, SCENE, Case, good_bands, json_of, main, np, pixels, scene

import hcube


class Rasters(Case):
    def test_the_sample_scene(self):
        found = hcube.read_raster(SCENE)
        self.assertEqual(found.dtype, np.uint16)
        self.equal(found, scene())
        self.equal(hcube.read_raster(SAMPLE / "scene.img"), scene())
        with self.assertRaises(ValueError):
            found[0, 0, 0] = 1

    def test_every_interleave_and_type(self):
        values = scene()[:, :, good_bands()]
        for kind, stored in (("uint8", "u1"), ("int16", "i2"), ("uint16", "u2"), ("int32", "i4"), ("uint32", "u4"),
                             ("float32", "f4"), ("float64", "f8")):
            for order, axes in (("bsq", (2, 0, 1)), ("bil", (0, 2, 1)), ("bip", (0, 1, 2))):
                with self.subTest(kind=kind, order=order):
                    name = f"{kind}_{order}.img"
                    hcube.run(["write", SCENE, name], type=kind, interleave=order, window="3,5,7,11", nodata=0)
                    found = hcube.read_raster(name)
                    self.assertEqual(found.dtype, np.dtype(stored))
                    expected = np.minimum(values[5:16, 3:10], 255) if kind == "uint8" else values[5:16, 3:10]
                    self.equal(found, expected)
                    self.equal(np.fromfile(name, stored), expected.transpose(axes).ravel())

    def test_big_endian_behind_an_offset(self):
        values = np.arange(24, dtype=">i4").reshape(2, 3, 4)
        with open("a.dat", "wb") as file:
            file.write(b"seven b" + values.tobytes())
        with open("a.dat.hdr", "w") as file:
            file.write("ENVI\nsamples=4\nlines = 2\n; a remark\nbands =  3\nheader  offset = 7\nData Type = 3\n"
                       "interleave = BIL\nbyte order = 1\nband names = {\n one,\n two , three }\n")
        self.equal(hcube.read_raster("a.dat"), values.transpose(0, 2, 1))
        header = hcube.read_header("a.dat")
        self.assertEqual(header["band names"], ["one", "two", "three"])
        self.assertEqual(header["header offset"], "7")

    def test_the_header_of_a_run(self):
        hcube.run(["mnf", SCENE, "mnf.img"], components=2)
        header = hcube.read_header("mnf.img")
        self.assertEqual((header["lines"], header["bands"], header["data type"]), ("100", "2", "4"))
        self.assertTrue(header["band names"][1].startswith("MNF 2 (eigenvalue "), header["band names"])
        self.assertEqual(header["data ignore value"], "nan")
        self.assertTrue(header["coordinate system string"].startswith('PROJCS["WGS_1984_UTM_Zone_33N",'))

    def test_other_files_are_refused(self):
        hcube.run(["write", SCENE, "scene.tif"])
        self.refused(hcube.FileError, "rasterio or GDAL", hcube.read_raster, "scene.tif")
        self.refused(hcube.FileError, "rasterio or GDAL", hcube.run(["mnf", SCENE, "m.tif"], components=1).array)
        with open("a.hdr", "w") as file:
            file.write("ENVI\nsamples = 4\nlines = 4\nbands = 1\ndata type = 4\n")
        self.refused(hcube.FileError, "a.hdr: there is no data file", hcube.read_raster, "a.hdr")
        with open("a.img", "wb") as file:
            file.write(bytes(63))
        self.refused(hcube.FileError, "a.img: 63 bytes, where its header describes 64", hcube.read_raster, "a.hdr")
        for line, part in (("data type = 7", "data type = 7"), ("interleave = bis", "interleave = bis"),
                           ("lines = -1", "lines = -1"), ("lines = x", "lines = x"),
                           ("file compression = 1", "compressed")):
            with open("a.hdr", "a") as file:
                file.write(line + "\n")
            self.refused(hcube.FileError, part, hcube.read_raster, "a.img")
            with open("a.hdr", "w") as file:
                file.write("ENVI\nsamples = 4\nlines = 4\nbands = 1\ndata type = 4\n")


class Fits(Case):
    def test_a_model(self):
        hcube.run(f"read '{SCENE}' ! mnf --save-model model.json --components 5 ! write mnf.bip")
        model = hcube.read_model("model.json")
        bands = len(good_bands())
        self.assertEqual((model["method"], model["components"], model["bands"]), ("mnf", bands, bands))
        self.equal(model["file_bands_from_0"], good_bands())
        self.assertEqual(model["forward"].shape, (bands, bands))
        self.close(model["mean"], pixels().mean(axis=0), 1e-13)
        self.assertTrue((np.diff(model["eigenvalues"]) <= 0).all())
        # What the program made of the model, and what the arrays make.
        stored = np.fromfile("mnf.bip", "<f4").reshape(-1, 5)
        stored = stored[np.isfinite(stored).all(axis=1)]
        self.close(stored, (pixels() - model["mean"]) @ model["forward"][:, :5], 1e-5)
        self.close(model["forward"] @ model["inverse"], np.eye(bands), 1e-8)

    def test_a_model_that_left_bands_out(self):
        part = scene()[:, :, :5].copy()
        part[:, :, 2] = 7  # shows no noise
        part.tofile("part.bip")
        with open("part.hdr", "w") as file:
            file.write(f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = 5\ndata type = 12\ninterleave = bip\n"
                       "header offset = 0\nbyte order = 0\n")
        hcube.run("run read part.hdr ! mnf --noise mean3x3 --fit-only --save-model model.json")
        model = hcube.read_model("model.json")
        self.equal(model["left_out_bands_from_1"], [3])
        self.assertEqual((model["forward"].shape, model["inverse"].shape), ((5, 4), (4, 5)))
        self.close(model["inverse"] @ model["forward"], np.eye(4), 1e-8)
        self.equal(model["forward"][2], np.zeros(4))

    def test_statistics(self):
        hcube.run(["cov", SCENE, "statistics.json"])
        found = hcube.read_statistics("statistics.json")
        self.assertEqual(found["pixels"], len(pixels()))
        self.close(found["mean"], pixels().mean(axis=0), 1e-13)
        self.close(found["covariance"], np.cov(pixels().T, bias=False), 1e-12)
        raw = json_of("statistics.json")
        self.equal(found["covariance"].ravel(), raw["covariance"])
        self.equal(found["wavelength_nm"], raw["wavelength_nm"])

    def test_exact_sums(self):
        hcube.run(["cov", SCENE, "sums.json"], sums=True)
        found = hcube.read_sums("sums.json")
        whole = pixels().astype(np.int64)
        self.equal(found["sum"].astype(np.int64), whole.sum(axis=0))
        self.equal(found["products"].astype(np.int64), whole.T @ whole)
        self.assertIs(type(found["products"][3, 1]), int)

    def test_sums_of_floats(self):
        hcube.run(["write", SCENE, "f.img"], type="float32")
        hcube.run("cov f.img sums.json --sums")
        found = hcube.read_sums("sums.json")
        whole = pixels()
        count = len(whole)
        self.close(found["center"] + found["sum"].astype(float) * 2.0 ** found["unit_exponent"] / count,
                   whole.mean(axis=0), 1e-13)
        # Whole numbers until the last step: the covariance is the same as of the integers.
        scatter = count * found["products"] - np.outer(found["sum"], found["sum"])
        unit = 2.0 ** (found["unit_exponent"][:, None] + found["unit_exponent"])
        self.close((scatter / (count * (count - 1))).astype(float) * unit, np.cov(whole.T), 1e-12)

    def test_records(self):
        hcube.run(["pca", SCENE, "pca.img"], components=3, save_model="model.json")
        record = hcube.read_record("pca.img")
        self.assertEqual(record, json_of("pca.img.hcube.json"))
        self.assertEqual(record, hcube.read_record("pca.img.hcube.json"))
        self.assertEqual(record["pixels"]["masked_nodata"], LINES * SAMPLES - len(pixels()))
        self.equal(record["steps"][1]["result"]["eigenvalues"], hcube.read_model("model.json")["eigenvalues"])

    def test_files_of_another_kind(self):
        hcube.run(["cov", SCENE, "statistics.json"])
        self.refused(hcube.FileError, "statistics.json: no model of hcube", hcube.read_model, "statistics.json")
        self.refused(hcube.FileError, "no sums file of hcube", hcube.read_sums, "statistics.json")
        raw = json_of("statistics.json")
        for name, value in (("hcube_statistics", 2), ("mean", raw["mean"][1:]), ("covariance", [])):
            with open("other.json", "w") as file:
                json.dump({**raw, name: value}, file)
            self.refused(hcube.FileError, f"other.json: {name}", hcube.read_statistics, "other.json")
        with open("other.json", "w") as file:
            file.write('{"hcube_record": 1')
        self.refused(hcube.FileError, "other.json: no record of hcube", hcube.read_record, "other.json")
        with self.assertRaises(FileNotFoundError):
            hcube.read_record("nothing.img")


class Libraries(Case):
    def test_endmembers_as_envi_and_csv(self):
        hcube.run(["endmembers", SCENE, "spectra.sli"], count=4, csv="spectra.csv")
        found, table = hcube.read_library("spectra.sli"), hcube.read_library("spectra.csv")
        self.equal(found["spectra"], np.fromfile("spectra.sli", "<f4").reshape(4, -1))
        self.equal(table["spectra"], found["spectra"])
        self.equal(table["wavelength_nm"], found["wavelength_nm"])
        self.assertEqual(table["names"], found["names"])
        for name, spectrum in zip(found["names"], found["spectra"]):
            words = name.strip(")").split()  # endmember 1 (sample 23 line 18)
            sample, line = int(words[3]), int(words[5])
            self.equal(spectrum, scene()[line, sample][good_bands()])
        self.assertEqual(found["reflectance_scale_factor"], 10000)
        self.assertEqual(len(found["fwhm_nm"]), len(good_bands()))

    def test_the_sample_library(self):
        found = hcube.read_library(SAMPLE / "library.hdr")
        shown = hcube.info(SAMPLE / "library.sli")
        self.assertEqual(found["names"], shown["names"])
        self.equal(found["wavelength_nm"], np.arange(350, 2551, 10.0))
        stored = np.fromfile(SAMPLE / "library.sli", "<f4").reshape(60, 221).astype(float)
        stored[np.abs(stored) >= 1e30] = np.nan
        self.assertEqual(np.isnan(stored).sum(), shown["missing_values"])
        self.equal(found["spectra"], stored)

    def test_tables(self):
        for text, names, wavelength, spectra in (
            ("wavelength_um;a;b\n0.4;1;2\n0.5;;-1.23e34\n", ["a", "b"], [400, 500], [[1, np.nan], [2, np.nan]]),
            ("name,400,500\n\"x, y\",1,2\nz,NA,4\n", ["x, y", "z"], [400, 500], [[1, 2], [np.nan, 4]]),
            ("band\tone\n1\t5\n2\t6\n", ["one"], None, [[5, 6]]),
            ("wavelength,\n0.4,1\n2.5,2\n", ["Spectrum 1"], [400, 2500], [[1, 2]]),
        ):
            with self.subTest(text=text):
                with open("table.csv", "w") as file:
                    file.write(text)
                found = hcube.read_library("table.csv")
                self.assertEqual(found["names"], names)
                self.equal(found["spectra"], spectra)
                if wavelength is None:
                    self.assertIsNone(found["wavelength_nm"])
                else:
                    self.equal(found["wavelength_nm"], wavelength)
                shown = hcube.info("table.csv")  # the program reads it the same way
                self.assertEqual((shown["spectra"], shown["names"]), (len(names), names))
                self.equal(shown.get("wavelength_nm", ()), [] if wavelength is None else wavelength)

    def test_what_the_header_marks(self):
        np.array([[1, 2, 3], [4, -9, 6]], "<i2").tofile("a.sli")
        with open("a.hdr", "w") as file:
            file.write("ENVI\nsamples = 3\nlines = 2\nbands = 1\nfile type = ENVI Spectral Library\ndata type = 2\n"
                       "interleave = bsq\nbyte order = 0\nwavelength = {0.4, 0.5, 0.6}\nbbl = {1, 1, 0}\n"
                       "data ignore value = -9\nspectra names = {first}\n")
        found = hcube.read_library("a.sli")
        self.equal(found["spectra"], [[1, 2, np.nan], [4, np.nan, np.nan]])
        self.equal(found["wavelength_nm"], [400, 500, 600])
        self.assertEqual(found["names"], ["first", "Spectrum 2"])

    def test_guarded_names(self):
        with open("guarded.csv", "w") as file:
            file.write("wavelength [nm],\"'=a\",\"''+b\",\"'tis\",\"-5\",'-c\n400,1,2,3,4,5\n500,1,2,3,4,5\n")
        self.assertEqual(hcube.read_library("guarded.csv")["names"], ["=a", "'+b", "'tis", "-5", "-c"])
        shown = hcube.info("guarded.csv")
        self.assertEqual(shown["names"], ["=a", "'+b", "'tis", "-5", "-c"])

    def test_no_library(self):
        self.refused(hcube.FileError, "no spectral library", hcube.read_library, SCENE)
        with open("a.csv", "w") as file:
            file.write("name,400,500\nx,1\n")
        self.refused(hcube.FileError, "a.csv: no table of spectra", hcube.read_library, "a.csv")


class Scene(Case):
    def test_info(self):
        found = hcube.info(SCENE)
        self.assertEqual((found["lines"], found["samples"]), (LINES, SAMPLES))
        self.assertEqual(hcube.read_raster(SCENE).shape, (LINES, SAMPLES, BANDS))


if __name__ == "__main__":
    main()
