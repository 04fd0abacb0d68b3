# The dock of the plug-in in an offscreen QGIS: the spectrum under the cursor is that of the pixel which QGIS shows
# there, on any grid; clicks keep spectra; its server ends with the layer, the dock and the plug-in.
export QT_QPA_PLATFORM=offscreen PYTHONDONTWRITEBYTECODE=1 XDG_RUNTIME_DIR=$PWD HOME=$PWD/home
python=/usr/bin/python3 # bindings of the distribution
"$python" -c 'import numpy, osgeo.gdal, qgis.gui' 2>/dev/null || exit 77
! sanitized || exit 77 # nothing but the program's own time
[[ $("$HCUBE" view --help) == *--no-open* ]] || exit 77
chmod 700 .
mkdir -m 700 home
export HCUBE
HCUBE=$(realpath "$HCUBE")
cp "$SAMPLE"/scene.{hdr,img} .
"$python" - "$(cd "$here/../../qgis" && pwd)" 2>python.err <<'PYTHON' || fail "$(cat python.err)"
import os
import shlex
import sys

import numpy
from osgeo import gdal
from qgis.core import QgsApplication, QgsCoordinateReferenceSystem, QgsCoordinateTransform, QgsPointXY, QgsProject, QgsRaster, QgsRasterLayer
from qgis.gui import QgsMapCanvas
from qgis.PyQt.QtCore import QEvent, QPointF, Qt
from qgis.PyQt.QtGui import QMouseEvent
from qgis.PyQt.QtTest import QTest
from qgis.PyQt.QtWidgets import QMainWindow

sys.path += ["/usr/share/qgis/python/plugins", sys.argv[1]]
application = QgsApplication([], True)
application.initQgis()
from hcube_provider import classFactory


class Desk(QMainWindow):
    """What the plug-in needs of QGIS's own window."""

    def __init__(self):
        super().__init__()
        self.canvas, self.menus = QgsMapCanvas(), []
        self.setCentralWidget(self.canvas)

    def mapCanvas(self):
        return self.canvas

    def addPluginToRasterMenu(self, name, action):
        self.menus.append(action)

    def removePluginRasterMenu(self, name, action):
        self.menus.remove(action)


def layer_of(path):
    layer = QgsRasterLayer(path, os.path.basename(path))
    assert layer.isValid(), path
    return layer


def wait(condition):
    for _ in range(600):
        if condition():
            return
        QTest.qWait(50)
    raise AssertionError(f"{dock.label.text()!r}")


def shown_at(layer, point):
    """The values that the dock shows where the cursor is: a point of the layer's own system."""
    dock.values = None
    canvas.xyCoordinates.emit(QgsCoordinateTransform(layer.crs(), canvas.mapSettings().destinationCrs(),
                                                     QgsProject.instance()).transform(point))
    wait(lambda: dock.values is not None or dock.failure is not None)
    assert dock.failure is None, dock.failure
    return [numpy.nan if value is None else value for value in dock.values]


def check(layer, point):
    found = layer.dataProvider().identify(point, QgsRaster.IdentifyFormatValue).results()
    expected = [found[band] for band in sorted(found)]
    numpy.testing.assert_allclose(shown_at(layer, point), expected, rtol=1e-6)


desk = Desk()
desk.resize(900, 500)
desk.show()
plugin = classFactory(desk)
plugin.initGui()
canvas, dock = desk.canvas, plugin.dock
assert desk.menus == [dock.toggleViewAction()] and not dock.isVisible()
scene = layer_of("scene.img")
canvas.setDestinationCrs(scene.crs())
canvas.setLayers([scene])
canvas.setCurrentLayer(scene)
cube = gdal.Open("scene.img").ReadAsArray()
centre = scene.extent().center()

# Hidden, it starts nothing.
canvas.xyCoordinates.emit(centre)
QTest.qWait(200)
assert dock.server is None
dock.show()
box = scene.extent()
for sample, line in ((20, 30), (99, 99), (50, 0)):
    point = QgsPointXY(box.xMinimum() + (sample + 0.3) * 30, box.yMaximum() - (line + 0.8) * 30)
    expected = cube[:, line, sample].astype(float)
    numpy.testing.assert_array_equal(shown_at(scene, point), numpy.where((expected == 0).all(), numpy.nan, expected))
    assert dock.label.text() == f"scene.img: sample {sample}, line {line}", dock.label.text()
words = shlex.split(dock.command)
assert words[:2] == ["hcube", "extract"] and "50,0" in words, words
process = dock.server.process
assert process.poll() is None


def click():
    spot = QPointF(9, 9)
    for kind in (QEvent.MouseButtonPress, QEvent.MouseButtonRelease):
        QgsApplication.sendEvent(canvas.viewport(), QMouseEvent(kind, spot, Qt.LeftButton, Qt.LeftButton, Qt.NoModifier))


for k in range(7):
    point = QgsPointXY(box.xMinimum() + (30 + 5 * k) * 30, box.yMaximum() - 40 * 30)
    check(scene, point)
    click()
assert len(dock.kept) == 5 and dock.kept[0] == dock.values
check(scene, centre)
colours = {c for _, c in dock.plot.spectra}
assert len(dock.plot.spectra) == len(colours) == 6
picture = dock.grab().toImage()
picture.save("dock.png")
drawn = {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())}
assert colours <= drawn, colours - drawn
assert [len(v) for v, _ in dock.plot.spectra] == [64] * 6
bad = [b for b, is_bad in enumerate(dock.server.layer["bad"]) if is_bad]
assert bad and all(values[b] is None for values, _ in dock.plot.spectra for b in bad)
dock.clear()
assert len(dock.plot.spectra) == 1 and dock.kept == []
last = dock.values
dock.values = None
canvas.xyCoordinates.emit(QgsPointXY(box.xMaximum() + 40, box.yMinimum()))  # beside the layer
QTest.qWait(300)
assert dock.values is None and dock.failure is None

# Another layer: the server of the first ends. Grids that are turned, upside down, without a place; another system.
for name, place in (("up.tif", (331200, 30, 0, 5560500, 0, 30)), ("turned.tif", (331200, 24, 18, 5563500, 18, -24)), ("plain.tif", None)):
    made = gdal.GetDriverByName("GTiff").Create(name, 40, 30, 64, gdal.GDT_Float32)
    if place is not None:
        made.SetGeoTransform(place)
        made.SetProjection(scene.crs().toWkt())
    made.WriteArray(cube[:, 20:50, 30:70] + numpy.float32(0.5))
    made = None
    layer = layer_of(name)
    canvas.setLayers([layer])
    canvas.setCurrentLayer(layer)
    assert process.poll() is not None and dock.server is None and dock.plot.spectra == []
    if place is not None:
        canvas.setDestinationCrs(QgsCoordinateReferenceSystem("EPSG:4326"))
    else:
        canvas.setDestinationCrs(layer.crs())
    x, across, tilt, y, slope, down = place or (0, 1, 0, 0, 0, -1)
    for sample, line in ((0, 0), (39, 29), (17, 4)):
        point = QgsPointXY(x + (sample + 0.3) * across + (line + 0.7) * tilt, y + (sample + 0.3) * slope + (line + 0.7) * down)
        numpy.testing.assert_array_equal(shown_at(layer, point), cube[:, 20 + line, 30 + sample] + numpy.float32(0.5))
        if name != "turned.tif":  # of which QGIS shows a coarser copy
            check(layer, point)
    process = dock.server.process

# What fails is one line, once, until the layer changes.
os.remove("scene.img")
canvas.setCurrentLayer(scene)
canvas.setDestinationCrs(scene.crs())
canvas.xyCoordinates.emit(centre)
wait(lambda: dock.failure is not None)
assert "scene.img" in dock.label.text() and "\n" not in dock.label.text() and dock.server is None, dock.label.text()
canvas.setCurrentLayer(layer)
canvas.setDestinationCrs(layer.crs())
shown_at(layer, layer.extent().center())
dock.server.process.kill()
dock.server.process.wait()
canvas.xyCoordinates.emit(layer.extent().center())
wait(lambda: dock.failure is not None)
assert "does not answer" in dock.label.text(), dock.label.text()
canvas.setCurrentLayer(None)
canvas.setCurrentLayer(layer)
shown_at(layer, layer.extent().center())
process = dock.server.process
dock.hide()
assert process.poll() is not None
dock.show()
shown_at(layer, layer.extent().center())
process = dock.server.process
application.aboutToQuit.emit()
assert process.poll() is not None
shown_at(layer, layer.extent().center())
process = dock.server.process
plugin.unload()
assert process.poll() is not None and desk.menus == [] and plugin.dock is None
QTest.qWait(50)
canvas.xyCoordinates.emit(centre)

# A program that runs on where nothing answers at its address is ended, too.
from hcube_provider.dock import ProgramError, Server

with open("deaf", "w") as file:
    file.write("#!/bin/sh\necho $$ >deaf.pid\necho http://127.0.0.1:1/x/\nexec sleep 600\n")
os.chmod("deaf", 0o700)
os.environ["HCUBE"] = os.path.abspath("deaf")
try:
    Server("scene.img")
    raise AssertionError("a server that does not answer is taken")
except ProgramError as error:
    assert "does not answer" in str(error), error
assert not os.path.exists("/proc/" + open("deaf.pid").read().strip())
PYTHON
