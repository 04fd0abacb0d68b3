# The styles of `write --qml` in QGIS itself: rasters are drawn, and each pixel has the colour that the page promises.
# Where there is no QGIS, write_qml.sh still tests the texts.
export QT_QPA_PLATFORM=offscreen PYTHONDONTWRITEBYTECODE=1 XDG_RUNTIME_DIR=$PWD HOME=$PWD/home
chmod 700 .
mkdir -m 700 home
python=/usr/bin/python3 # bindings of the distribution
"$python" -c 'import numpy, qgis.core' 2>/dev/null || exit 77
cp "$SAMPLE"/scene.{hdr,img} .

run 0 run read scene.hdr ! write scene.tif --qml ! mnf --components 4 ! write mnf.img --qml
run 0 run read scene.hdr ! knn --training "$SAMPLE/class.hdr" -k 3 ! bands 1 ! write map.tif --qml
run 0 run read scene.hdr ! abundance --endmembers "$SAMPLE/endmembers.csv" ! write parts.tif --qml
run 0 run read scene.hdr ! rx ! write rx.tif --qml
run 0 run read scene.hdr ! detect --targets "$SAMPLE/endmembers.csv" --method ace ! write ace.tif --qml
"$python" - "$SAMPLE/class.hdr" 2>python.err <<'PYTHON' || fail "$(cat python.err)"
import re
import sys

import numpy
from qgis.core import QgsApplication, QgsMapRendererSequentialJob, QgsMapSettings, QgsRasterLayer
from qgis.PyQt.QtCore import Qt, QSize
from qgis.PyQt.QtGui import QImage

application = QgsApplication([], False)
application.initQgis()


class Drawn:
    """A raster as QGIS draws it, pixel for pixel: colour [lines, samples, 4], and values of its bands."""

    def __init__(self, path):
        self.layer = QgsRasterLayer(path, path)
        assert self.layer.isValid(), path
        wide, high = self.layer.width(), self.layer.height()
        settings = QgsMapSettings()
        settings.setLayers([self.layer])
        settings.setDestinationCrs(self.layer.crs())
        settings.setExtent(self.layer.extent())
        settings.setOutputSize(QSize(wide, high))
        settings.setOutputImageFormat(QImage.Format_ARGB32)
        settings.setBackgroundColor(Qt.transparent)
        job = QgsMapRendererSequentialJob(settings)
        job.start()
        job.waitForFinished()
        image = job.renderedImage().convertToFormat(QImage.Format_RGBA8888)
        bits = image.constBits()
        bits.setsize(image.sizeInBytes())
        self.colour = numpy.frombuffer(bits, numpy.uint8).reshape(high, wide, 4).astype(int)
        self.valid = self.colour[..., 3] == 255
        assert set(numpy.unique(self.colour[..., 3])) == {0, 255}, f"{path}: half transparent"

    def band(self, number):
        provider = self.layer.dataProvider()
        block = provider.block(number, self.layer.extent(), self.layer.width(), self.layer.height())
        return numpy.array([[block.value(l, s) for s in range(block.width())] for l in range(block.height())])

    def colour_of(self, chosen):
        return self.colour[chosen][..., :3]


def close(path, what, drawn, expected):
    off = numpy.abs(drawn - expected).max()
    assert off <= 2, f"{path}: {what}: {off} levels off"  # NaN fails


def check_levels(path, drawn, values, gamma):
    """From the 2nd to the 98th percentile, then raised to 1/gamma. QGIS has whole levels between the two."""
    ranked = numpy.sort(values)
    cut = (len(ranked) - 1) * 2 // 100
    low, high = ranked[cut], ranked[len(ranked) - 1 - cut]
    level = 255 * numpy.clip((values - low) / (high - low), 0, 1)
    least, most = (255 * (numpy.clip(level + step, 0, 255) / 255) ** (1 / gamma) for step in (-1.5, 1.5))
    assert ((drawn >= least - 1) & (drawn <= most + 1)).all(), f"{path}: stretch or gamma"


# Band by band; nodata of the sample scene is 0 in all bands.
for path, gamma in (("scene.tif", 1.4), ("mnf.img", 1)):
    drawn = Drawn(path)
    renderer = drawn.layer.renderer()
    bands = (renderer.redBand(), renderer.greenBand(), renderer.blueBand())
    values = [drawn.band(number) for number in bands]
    assert (drawn.valid == (numpy.isfinite(values[0]) & (values[0] != 0))).all(), f"{path}: nodata"
    for place, value in enumerate(values):
        check_levels(f"{path}, colour {place}", drawn.colour[drawn.valid][:, place], value[drawn.valid], gamma)
assert bands == (1, 2, 3), bands

# Colours and names of the classes are those of the training data.
header = open(sys.argv[1], encoding="utf-8").read()
lookup = [int(number) for number in re.search(r"class lookup\s*=\s*{([^}]*)}", header)[1].split(",")]
names = [name.strip() for name in re.search(r"class names\s*=\s*{([^}]*)}", header)[1].split(",")]
drawn = Drawn("map.tif")
numbers = drawn.band(1)
assert (drawn.valid == (numbers > 0)).all(), "map.tif: pixels of no class"
for number in range(1, len(names)):
    chosen = numbers == number
    assert chosen.any()
    close("map.tif", names[number], drawn.colour_of(chosen), lookup[3 * number : 3 * number + 3])
shown = {entry.value: entry.label for entry in drawn.layer.renderer().classes()}
assert shown == dict(enumerate(names[1:], 1)), shown

# Fractions: 0 and 1 are the ends of viridis, whatever occurs.
drawn = Drawn("parts.tif")
values = numpy.where(drawn.valid, drawn.band(1), numpy.nan)
for part, colour in ((0, (68, 1, 84)), (1 / 3, (49, 104, 142)), (2 / 3, (53, 183, 121))):
    chosen = numpy.abs(values - part) < 0.003
    assert chosen.any(), part
    close("parts.tif", f"{part:.2f}", drawn.colour_of(chosen), colour)
assert (values[drawn.valid] >= 0).all() and 900 < (~drawn.valid).sum() < 1000

# Scores of one sign rise in lightness from 0 on, which no pixel has here; of both signs they are blue below 0, red above, and pale between.
drawn = Drawn("rx.tif")
values = drawn.band(1)[drawn.valid]
light = (drawn.colour[drawn.valid][:, :3] * (0.299, 0.587, 0.114)).sum(axis=1)
order = numpy.argsort(values)
assert (numpy.diff(light[order]) > -3).all() and light[order][0] < 60 and light[order][-1] > 230, "rx.tif: not in order"
drawn = Drawn("ace.tif")
values = numpy.where(drawn.valid, drawn.band(1), 0)
limit = numpy.abs([drawn.layer.renderer().classificationMin(), drawn.layer.renderer().classificationMax()])
assert limit[0] == limit[1] > 0, limit
red, blue = drawn.colour[..., 0], drawn.colour[..., 2]
assert (red[values > 0.2 * limit[0]] > blue[values > 0.2 * limit[0]] + 30).all(), "ace.tif: above 0"
assert (blue[values < -0.2 * limit[0]] > red[values < -0.2 * limit[0]] + 30).all(), "ace.tif: below 0"
middle = drawn.valid & (numpy.abs(values) < 0.01 * limit[0])
assert middle.any() and (drawn.colour_of(middle) > 210).all(), "ace.tif: 0 is not pale"
PYTHON
