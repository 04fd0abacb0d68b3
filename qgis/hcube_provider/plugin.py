"""What QGIS loads: adds the provider and the dock, and takes them away again."""

from qgis.core import QgsApplication

from .provider import Provider


class Plugin:
    def __init__(self, iface):
        self.iface, self.provider, self.dock = iface, None, None

    def initProcessing(self):
        self.provider = Provider()
        QgsApplication.processingRegistry().addProvider(self.provider)

    def initGui(self):
        from qgis.PyQt.QtCore import Qt

        from .dock import SpectrumDock

        self.initProcessing()
        self.dock = SpectrumDock(self.iface.mapCanvas())
        self.iface.addDockWidget(Qt.RightDockWidgetArea, self.dock)
        self.dock.hide()
        self.iface.addPluginToRasterMenu("hcube", self.dock.toggleViewAction())

    def unload(self):
        if self.dock is not None:
            self.dock.end()
            self.iface.removePluginRasterMenu("hcube", self.dock.toggleViewAction())
            self.iface.removeDockWidget(self.dock)
            self.dock.deleteLater()
            self.dock = None
        if self.provider is not None:
            QgsApplication.processingRegistry().removeProvider(self.provider)
            self.provider = None
