"""A dock with the spectrum under the cursor: a server of `hcube view` reads it from the file of the current layer.

A click on the map, with any tool, keeps the spectrum beside the next ones.
"""

import json
import math
import signal
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from osgeo import gdal
from qgis.core import QgsCoordinateTransform, QgsCsException, QgsProject, QgsRasterLayer
from qgis.PyQt.QtCore import QEvent, QPointF, QRectF, Qt, QTimer
from qgis.PyQt.QtGui import QColor, QPainter, QPen, QPolygonF
from qgis.PyQt.QtWidgets import QApplication, QDockWidget, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from .program import ProgramError, program

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # the first: under the cursor
KEPT_MAX = len(COLOURS) - 1
PAUSE = 40  # ms between two spectra


class Server:
    """`hcube view` of one file. ProgramError, one line, where it does not start or does not answer."""

    def __init__(self, path):
        self.said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            [program(), "view", path, "--no-open"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.said, encoding="utf-8",
        )
        # No proxy may see the address.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.address = next((w for line in self.process.stdout for w in line.split() if w.startswith("http://")), None)
        if self.address is None:
            code = self.process.wait()
            self.said.seek(0)
            lines = [line[len("hcube: "):] for line in self.said.read().splitlines() if line.startswith("hcube: ")]
            self.end()
            raise ProgramError("; ".join(lines) or f"{path}: hcube view ended with code {code}")
        try:
            self.layer = self.ask("scene.json")["layers"][0]
        except ProgramError:
            self.end()
            raise

    def ask(self, place, **query):
        try:
            with self.opener.open(f"{self.address}{place}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise ProgramError(json.load(error)["error"]) from error
        except (OSError, ValueError) as error:
            raise ProgramError(f"hcube view does not answer: {error}") from error

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()
        self.process.stdout.close()
        self.said.close()


class Plot(QWidget):
    """Spectra over wavelengths, or band numbers: lists of values, None where one is missing."""

    def __init__(self):
        super().__init__()
        self.setMinimumSize(240, 160)
        self.places, self.unit, self.spectra = [], "", []

    def set(self, layer, spectra):
        """spectra: [(values, colour)]. Bad bands are gaps."""
        known = all(w is not None for w in layer["wavelengths"])
        self.places = layer["wavelengths"] if known else list(range(1, layer["bands"] + 1))
        self.unit = "nm" if known else "band"
        self.spectra = [([None if bad else v for v, bad in zip(values, layer["bad"])], c) for values, c in spectra]
        self.update()

    def lines(self, values, area, low, high):
        """Points of the plot, a list for each stretch without a gap."""
        first, last = min(self.places), max(self.places)
        found = [[]]
        for place, value in sorted(zip(self.places, values), key=lambda pair: pair[0]):
            if value is None:
                found.append([])
                continue
            x = area.left() + area.width() * ((place - first) / (last - first) if last > first else 0.5)
            found[-1].append(QPointF(x, area.bottom() - area.height() * (value - low) / (high - low)))
        return [line for line in found if line]

    def paintEvent(self, _):
        painter = QPainter(self)
        painter.setRenderHint(QPainter.Antialiasing)
        painter.fillRect(self.rect(), self.palette().base())
        painter.setPen(self.palette().text().color())
        shown = [v for values, _ in self.spectra for v in values if v is not None and math.isfinite(v)]
        if not shown:
            painter.drawText(self.rect(), Qt.AlignCenter, "no value here" if self.spectra else "move over the layer")
            return
        low, high = min(min(shown), 0), max(shown)
        high = high if high > low else low + 1
        metrics = painter.fontMetrics()
        left = max(metrics.horizontalAdvance(f"{v:.4g}") for v in (low, high)) + 10
        area = QRectF(self.rect()).adjusted(left, metrics.height(), -12, -2 * metrics.height())
        painter.drawRect(area)
        for value, y in ((low, area.bottom()), (high, area.top())):
            painter.drawText(QRectF(0, y - metrics.height() / 2, left - 5, metrics.height()),
                             Qt.AlignRight | Qt.AlignVCenter, f"{value:.4g}")
        under = QRectF(area.left(), area.bottom() + 3, area.width(), metrics.height())
        painter.drawText(under, Qt.AlignLeft, f"{min(self.places):.4g}")
        painter.drawText(under, Qt.AlignHCenter, self.unit)
        painter.drawText(under, Qt.AlignRight, f"{max(self.places):.4g}")
        for values, colour in reversed(self.spectra):
            painter.setPen(QPen(QColor(colour), 1.5))
            painter.setBrush(QColor(colour))
            for points in self.lines(values, area, low, high):
                if len(points) == 1:
                    painter.drawEllipse(points[0], 2, 2)
                else:
                    painter.drawPolyline(QPolygonF(points))


class SpectrumDock(QDockWidget):
    def __init__(self, canvas):
        super().__init__("hcube: spectrum")
        self.setObjectName("hcube_spectrum")
        self.canvas = canvas
        self.server = self.failure = self.inverse = self.point = self.command = self.values = None
        self.kept = []
        self.plot, self.label = Plot(), QLabel("")
        self.label.setWordWrap(True)
        copy, clear = QPushButton("Copy command"), QPushButton("Clear")
        copy.setToolTip("Copy the hcube extract command that writes this spectrum")
        clear.setToolTip("Forget the spectra that clicks have kept")
        copy.clicked.connect(lambda: QApplication.clipboard().setText(self.command or ""))
        clear.clicked.connect(self.clear)
        body, row = QWidget(), QHBoxLayout()
        row.addWidget(copy)
        row.addWidget(clear)
        column = QVBoxLayout(body)
        column.addWidget(self.plot, 1)
        column.addWidget(self.label)
        column.addLayout(row)
        self.setWidget(body)
        self.timer = QTimer(self)
        self.timer.setSingleShot(True)
        self.timer.setInterval(PAUSE)
        self.timer.timeout.connect(self.look)
        canvas.xyCoordinates.connect(self.move_to)
        canvas.currentLayerChanged.connect(self.end)
        self.visibilityChanged.connect(lambda visible: None if visible else self.end())
        canvas.viewport().installEventFilter(self)
        QApplication.instance().aboutToQuit.connect(self.end)  # QGIS need not unload plug-ins before it ends

    def eventFilter(self, _, event):
        if event.type() == QEvent.MouseButtonRelease and event.button() == Qt.LeftButton and self.values is not None:
            self.keep()
        return False

    def keep(self):
        self.kept = [self.values, *self.kept][:KEPT_MAX]

    def clear(self):
        self.kept = []
        self.draw()

    def move_to(self, point):
        self.point = point
        if self.isVisible() and not self.timer.isActive():
            self.timer.start()

    def start(self, layer):
        """A server of the file of the layer. Its pixels are found as GDAL places them, turned grids included."""
        path = layer.source().split("|")[0]
        self.server = Server(path)
        opened = gdal.Open(path)
        # Without a place, QGIS counts lines downwards from 0.
        place = (opened and opened.GetGeoTransform(can_return_null=True)) or (0, 1, 0, 0, 0, -1)
        self.inverse = gdal.InvGeoTransform(place)
        if self.inverse is None:
            raise ProgramError(f"{path}: its pixels have no size")

    def pixel(self, layer):
        """Sample and line under the cursor, from 0; None beside the layer."""
        to_layer = QgsCoordinateTransform(self.canvas.mapSettings().destinationCrs(), layer.crs(), QgsProject.instance())
        try:
            point = to_layer.transform(self.point)
        except QgsCsException:
            return None
        sample, line = (math.floor(v) for v in gdal.ApplyGeoTransform(self.inverse, point.x(), point.y()))
        shown = self.server.layer
        return (sample, line) if 0 <= sample < shown["samples"] and 0 <= line < shown["lines"] else None

    def look(self):
        layer = self.canvas.currentLayer()
        if not isinstance(layer, QgsRasterLayer) or self.point is None or self.failure is not None:
            return
        try:
            if self.server is None:
                self.start(layer)
            at = self.pixel(layer)
            if at is None:
                return
            found = self.server.ask("spectrum", layer=0, sample=at[0], line=at[1])
        except (ProgramError, OSError) as error:
            self.end()
            self.failure = str(error)
            self.label.setText(self.failure)
            return
        self.values, self.command = found["values"], found["command"]
        self.label.setText(f"{layer.name()}: sample {at[0]}, line {at[1]}")
        self.draw()

    def draw(self):
        if self.server is not None:
            spectra = [s for s in (self.values, *self.kept) if s is not None]
            self.plot.set(self.server.layer, list(zip(spectra, COLOURS)))

    def end(self, *_):
        """Ends the server: the dock is hidden, or another layer is the current one."""
        self.timer.stop()
        if self.server is not None:
            self.server.end()
        self.server = self.failure = self.values = self.command = None
        self.clear()
        self.plot.spectra = []
        self.plot.update()
        self.label.setText("")
