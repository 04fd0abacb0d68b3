"""The types of the stages are those of the program, and a checker finds wrong ones in a user's program."""

import importlib.util
import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import Case, main

import hcube

ROOT = Path(__file__).parents[2]
RIGHT = """
import numpy as np
import hcube
import hcube.xarray

scene = hcube.Scene(np.ones((3, 3, 3)))
components: hcube.Scene = scene.mnf(components=20, noise="auto", threads=2, progress="none")
clusters: hcube.Scene = scene.kmeans(clusters=4)
written: hcube.Result = scene.cov("c.json", sums=True)
"""
WRONG = ("scene.mnf(colour=20)", "scene.cov()", 'scene.kmeans(clusters="four")', 'scene.filter("round")',
         'scene.mnf(progress="often")', "scene.cov(\"c.json\").values")


class Types(Case):
    def test_they_are_those_of_the_program(self):
        check = [sys.executable, str(ROOT / "scripts/python-types"), "--check", "--program", hcube.program()]
        done = subprocess.run(check, stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy was not found")
    def test_a_checker_finds_wrong_ones(self):
        Path("user.py").write_text(RIGHT + "".join(line + "\n" for line in WRONG))
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=none", "user.py"],
                              stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, "MYPYPATH": str(ROOT / "python")})
        lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if line.startswith("user.py") and "error:" in line}
        first = RIGHT.count("\n") + 1
        self.assertEqual(lines, set(range(first, first + len(WRONG))), done.stdout)


if __name__ == "__main__":
    main()
