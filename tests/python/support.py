"""What the tests of the package share. Values are compared with what NumPy reads from the files by itself."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
try:
    import numpy as np
except ImportError:
    print("skipped: python3-numpy was not found")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

SAMPLE = Path(os.environ["HCUBE_SAMPLE_DATA"])
SCENE = SAMPLE / "scene.hdr"
LINES, SAMPLES, BANDS = 100, 100, 64
BAD = (30, 31, 44, 45, 46)  # bands of the scene from 0 that its header marks as bad


def scene():
    """uint16 [line][sample][band] of all bands of the sample scene, which is BIL."""
    stored = np.fromfile(SAMPLE / "scene.img", "<u2")
    return stored.reshape(LINES, BANDS, SAMPLES).transpose(0, 2, 1)


def good_bands():
    return [b for b in range(BANDS) if b not in BAD]


def pixels():
    """float64 [pixel][band] of the good bands, without the pixels of nodata (0 in every band)."""
    values = scene().reshape(-1, BANDS).astype(np.float64)
    return values[values.any(axis=1)][:, good_bands()]


class Case(unittest.TestCase):
    """Each test has an empty folder, in which it stands."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hcube-python-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def equal(self, found, expected):
        """The same shape and values, NaN in the same places."""
        np.testing.assert_array_equal(found, expected)

    def close(self, found, expected, relative):
        """Within `relative` of the largest expected value; NaN fails."""
        found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
        self.assertEqual(found.shape, expected.shape)
        self.assertLessEqual(np.abs(found - expected).max(), relative * np.abs(expected).max())

    def refused(self, kind, part, function, *words, **options):
        """Fails with one line that holds `part`; hands back the error."""
        with self.assertRaises(kind) as caught:
            function(*words, **options)
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception


def json_of(path):
    return json.loads(Path(path).read_text())


def long_scene():
    """A scene of 8 GiB without a block on the disk: a run over it lasts until it is ended."""
    with open("long.hdr", "w") as header:
        header.write(
            "ENVI\nsamples = 8192\nlines = 8192\nbands = 64\nheader offset = 0\nfile type = ENVI Standard\n"
            "data type = 12\ninterleave = bil\nbyte order = 0\n"
        )
    with open("long.img", "wb") as data:
        data.truncate(8192 * 8192 * 64 * 2)


main = unittest.main
