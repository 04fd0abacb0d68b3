"""The notebooks of docs/notebooks run from their first cell to their last, as jupyter runs them."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from support import SAMPLE, Case, main

import hcube

if any(importlib.util.find_spec(name) is None for name in ("nbconvert", "ipykernel")):
    print("skipped: nbconvert or ipykernel was not found")
    sys.exit(77)
BOOKS = sorted((Path(__file__).parents[2] / "docs/notebooks").glob("*.ipynb"))


class Notebooks(Case):
    def test_each_runs(self):
        os.symlink(SAMPLE, "sample_data")
        found = {**os.environ, "PYTHONPATH": str(Path(hcube.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1",
                 "HOME": os.getcwd(), "JUPYTER_DATA_DIR": os.getcwd()}
        self.assertGreaterEqual(len(BOOKS), 2)
        for book in BOOKS:
            Path(book.name).write_text(book.read_text())
            done = subprocess.run([sys.executable, "-m", "nbconvert", "--execute", "--to", "notebook", "--output", "done",
                                   book.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=found, encoding="utf-8")
            self.assertEqual(done.returncode, 0, done.stdout)
            cells = [cell for cell in json.loads(Path("done.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
            self.assertEqual([cell["execution_count"] for cell in cells], list(range(1, len(cells) + 1)))
            self.assertIn("image/png", cells[-1]["outputs"][-1]["data"])

    def test_they_are_kept_without_outputs(self):
        for book in BOOKS:
            for cell in json.loads(book.read_text())["cells"]:
                self.assertFalse(cell.get("outputs") or cell.get("execution_count"), book.name)


if __name__ == "__main__":
    main()
