"""Runs of the program: words, options, events, outputs, records, errors."""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from support import LINES, SAMPLE, SAMPLES, SCENE, Case, json_of, main, np, scene

import hcube


class Runs(Case):
    def test_a_chain(self):
        result = hcube.run(f"read '{SCENE}' ! cov statistics.json ! mnf --components 3 ! write mnf.bil")
        self.assertEqual(result.outputs, [Path("statistics.json").absolute(), Path("mnf.bil").absolute()])
        self.equal(result.array(), np.fromfile("mnf.bil", "<f4").reshape(LINES, 3, SAMPLES).transpose(0, 2, 1))
        self.assertIsInstance(result.array().base, np.memmap)
        self.equal(result.array("mnf.bil"), result.array(Path("mnf.bil").absolute()))
        self.assertEqual(result.record, json_of("mnf.bil.hcube.json"))
        self.assertEqual([step["stage"] for step in result.record["steps"]], ["read", "cov", "mnf", "write"])
        self.assertEqual(result.notes, result.record["notes"])
        self.refused(hcube.FileError, "mnf.img", result.array, "mnf.img")

    def test_names_with_blanks_need_no_quotes(self):
        os.mkdir("a folder")
        for name in ("scene.hdr", "scene.img"):
            os.symlink(SAMPLE / name, f"a folder/{name}")
        chain = """
            # components of any scene
            read {scene}
            ! pca --components 2 --save-model "{name} model.json"
            ! write {out}
        """
        result = hcube.run(chain, set={"scene": Path("a folder/scene.hdr"), "name": "my", "out": "my !out.img"})
        self.assertEqual([path.name for path in result.outputs], ["my model.json", "my !out.img"])
        self.assertEqual(result.array().shape, (LINES, SAMPLES, 2))
        listed = hcube.run(["read", Path("a folder/scene.hdr"), "!", "bands", "1-3", "!", "write", "c d.img"])
        self.equal(listed.array(), scene()[:, :, :3])

    def test_a_chain_file(self):
        Path("c.hcube").write_text("read {scene}\n! bands 2\n! write {out}.img\n")
        result = hcube.run("c.hcube", set={"scene": SCENE, "out": "second"})
        self.equal(result.array()[:, :, 0], scene()[:, :, 1])

    def test_a_stage_with_options(self):
        hcube.run(["write", SCENE, "mask.img"], type="uint8", window="0,0,100,100")
        result = hcube.run(["filter", SCENE, "out.img"], kind="mean3x3", mask=["mask.img:1", "mask.img:2"],
                           all_bands=True, quiet=False, threads=1)
        for word in ("--kind=mean3x3", "--mask=mask.img:1", "--mask=mask.img:2", "--all-bands", "--threads=1"):
            self.assertIn(word, result.words)
        self.assertNotIn("--quiet=False", result.words)
        self.assertEqual(result.array().shape[2], 64)

    def test_another_folder(self):
        os.mkdir("below")
        result = hcube.run(["bands", SCENE, "1", "b.img"], cwd="below")
        self.assertEqual(result.outputs, [Path("below/b.img").absolute()])
        self.assertIsNotNone(result.record)
        self.equal(result.array()[:, :, 0], scene()[:, :, 0])

    def test_where_the_record_goes(self):
        result = hcube.run(["bands", SCENE, "1", "a.img"], record="elsewhere.json")
        self.assertEqual(result.record, json_of("elsewhere.json"))
        self.assertIsNone(hcube.run(["bands", SCENE, "1", "b.img"], record="none").record)

    def test_what_is_printed(self):
        result = hcube.run(["info", SCENE])
        self.assertIn("100 lines x 100 samples x 64 bands", result.text)
        self.assertEqual((result.outputs, result.record), ([], None))
        self.assertIn("2. mnf", hcube.run(["plan", "mnf", SCENE, "planned.tif"]).text)
        self.assertFalse(os.path.exists("planned.tif"))
        shown = subprocess.run([hcube.program(), "--version"], stdout=subprocess.PIPE, encoding="utf-8").stdout
        self.assertEqual(shown.split(), ["hcube", hcube.version()])

    def test_solve(self):
        matrix, right = np.diag([1.0, 2, 4, 8]).astype("f4"), np.array([1, 0, 0, 4], "f4")
        np.save("A.npy", matrix)
        np.save("b.npy", right)
        hcube.run("solve l1 A.npy b.npy x.npy", solver="alm")
        self.close(np.load("x.npy"), [1, 0, 0, 0.5], 1e-2)
        self.assertEqual(hcube.read_record("x.npy")["problem"], "l1")

    def test_a_batch(self):
        os.mkdir("in")
        for name in ("one", "two"):
            os.symlink(SAMPLE / "scene.img", f"in/{name}.img")
            os.symlink(SAMPLE / "scene.hdr", f"in/{name}.hdr")
        Path("in/bad.hdr").write_text("ENVI\nsamples = 3\n")
        words = ["batch", "bands", "1-2", "--scenes", "in/*.hdr", "--output", "out/{stem}.img"]
        error = self.refused(hcube.Error, "", hcube.run, words, jobs=1)
        self.assertEqual(error.code, 9)
        self.assertEqual([path.name for path in error.result.outputs], ["one.img", "two.img"])
        self.equal(error.result.array("two.img"), scene()[:, :, :2])


class Events(Case):
    def test_progress_rises_to_the_end(self):
        run = hcube.start(["mnf", SCENE, "out.img"], components=2)
        events = list(run)
        progress = [event for event in events if event["event"] == "progress"]
        self.assertEqual({event["pass"] for event in progress}, {1, 2})
        done = [event["bytes_done"] for event in progress]
        self.assertEqual(done, sorted(done))
        self.assertEqual(done[-1], progress[-1]["bytes"])
        self.assertEqual(progress[-1]["lines_done"], LINES)
        self.assertTrue(any(event["event"] == "note" and "marked as bad" in event["text"] for event in events))
        self.assertEqual(events[-1]["outputs"][0]["file"], "out.img")
        self.assertEqual(run.wait().array().shape, (LINES, SAMPLES, 2))
        self.assertEqual(list(run), [])

    def test_every_output_is_told(self):
        run = hcube.start(f"read '{SCENE}' ! noise n.json ! preview p.png ! endmembers e.sli --count 3 ! write w.tif")
        told = list(run)[-1]["outputs"]
        self.assertEqual([(o["stage"], o["file"]) for o in told],
                         [("noise", "n.json"), ("preview", "p.png"), ("endmembers", "e.sli"), ("write", "w.tif")])
        for output in told:
            self.assertTrue(os.path.getsize(output["file"]) > 0)
            self.assertEqual(hcube.read_record(output["record"]), run.result.record)

    def test_an_odd_name(self):
        result = hcube.run(["bands", SCENE, "1", "a\x1b[1m\u00e4.img"])
        self.assertTrue(result.outputs[0].is_file())


class Errors(Case):
    def test_each_has_its_code_and_line(self):
        for code, part, words in (
            (2, "mmf", "run read a ! mmf ! write b"),
            (2, "--components 0", ["mnf", SCENE, "x.img", "--components", "0"]),
            (3, "nothing.hdr", "info nothing.hdr"),
            (3, "nothing.hdr", "mnf nothing.hdr x.img"),
            (6, "float32", ["write", SCENE, "x.png", "--type", "float32"]),
        ):
            with self.subTest(words=words):
                shown = subprocess.run([hcube.program(), *(words.split() if isinstance(words, str) else map(str, words))],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                error = self.refused(hcube.Error, part, hcube.run, words)
                lines = [line for line in shown.stderr.splitlines() if line.startswith("hcube: ")]
                self.assertEqual((error.code, str(error)), (shown.returncode, lines[0][len("hcube: "):]))
        self.assertEqual(os.listdir("."), [])

    def test_what_is_there_already(self):
        hcube.run(["bands", SCENE, "1", "a.img"])
        error = self.refused(hcube.Error, "exists already", hcube.run, ["bands", SCENE, "2", "a.img"])
        self.assertEqual(error.code, 2)
        self.equal(hcube.run(["bands", SCENE, "2", "a.img"], overwrite=True).array()[:, :, 0], scene()[:, :, 1])

    def test_notes_before_the_error(self):
        np.zeros((LINES, SAMPLES), "u1").tofile("mask.img")
        Path("mask.hdr").write_text(f"ENVI\nsamples = {SAMPLES}\nlines = {LINES}\nbands = 1\ndata type = 1\n"
                                    "interleave = bsq\nheader offset = 0\nbyte order = 0\n")
        error = self.refused(hcube.Error, "", hcube.run, ["mnf", SCENE, "x.img"], mask="mask.img")
        self.assertEqual(error.code, 8)
        self.assertTrue(any("marked as bad" in note for note in error.result.notes), error.result.notes)

    def test_no_program(self):
        before = os.environ["HCUBE_PROGRAM"]
        self.addCleanup(os.environ.__setitem__, "HCUBE_PROGRAM", before)
        os.environ["HCUBE_PROGRAM"] = "/nothing/hcube"
        self.refused(FileNotFoundError, "HCUBE_PROGRAM", hcube.run, "info a")
        os.environ["HCUBE_PROGRAM"] = ""
        os.symlink(before, "hcube")
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = os.getcwd()
        self.assertEqual(hcube.run(["bands", SCENE, "1", "a.img"]).words[0], os.path.join(os.getcwd(), "hcube"))

    def test_no_words(self):
        self.refused(ValueError, "no chain", hcube.run, " ")


class Page(Case):
    def test_the_examples_run(self):
        """Indented blocks of docs/python.md, one behind the other, but for commands of a shell."""
        os.symlink(SAMPLE, "sample_data")
        page = (Path(__file__).parents[2] / "docs/python.md").read_text()
        blocks = re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", page)
        blocks = [textwrap.dedent(block) for block in blocks]
        blocks = [block for block in blocks if not block.strip().startswith(("sudo ", "pip "))]
        lacking = [name for name in ("xarray", "dask") if importlib.util.find_spec(name) is None]
        blocks = [block for block in blocks if not any(name in block for name in lacking)]
        said = io.StringIO()
        names = {}
        with contextlib.redirect_stdout(said):
            for block in blocks:
                exec(compile(block, "docs/python.md", "exec"), names)
        self.assertGreaterEqual(len(blocks), 6)
        self.assertIn("100 %", said.getvalue())
        self.assertIn("3 nothing.hdr: No such file or directory", said.getvalue())
        line = names["result"].array()[10]
        valid = np.isfinite(line).all(axis=1)
        self.close(names["components"][valid], line[valid], 1e-5)


class Package(Case):
    def test_names_and_version(self):
        for name in hcube.__all__:
            self.assertTrue(getattr(hcube, name).__doc__, name)
        project = (Path(__file__).parents[2] / "python/pyproject.toml").read_text()
        self.assertIn(f'version = "{hcube.version()}"', project)

    def test_only_numpy_is_needed(self):
        program = ("import sys, numpy; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); "
                   "before = set(sys.modules); import hcube; print(*set(sys.modules) - before)")
        shown = subprocess.run([sys.executable, "-c", program, str(Path(hcube.__file__).parents[1])],
                               stdout=subprocess.PIPE, encoding="utf-8")
        needed = {name.split(".")[0] for name in shown.stdout.split()}
        self.assertIn("hcube", needed)
        self.assertEqual(needed - {"hcube", "numpy"} - set(sys.stdlib_module_names), set())


if __name__ == "__main__":
    main()
