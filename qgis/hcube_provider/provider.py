"""The provider: one algorithm for each word that the program describes."""

import os

from processing.core.ProcessingConfig import ProcessingConfig, Setting
from qgis.core import Qgis, QgsMessageLog, QgsProcessingProvider
from qgis.PyQt.QtGui import QIcon

from .algorithm import Algorithm
from .program import SETTING, ProgramError, usage
from .words import words_of


class Provider(QgsProcessingProvider):
    def id(self):
        return "hcube"

    def name(self):
        return "hcube"

    def longName(self):
        return "hcube: hyperspectral scenes"

    def icon(self):
        return QIcon(os.path.join(os.path.dirname(__file__), "icon.svg"))

    def load(self):
        ProcessingConfig.addSetting(
            Setting(self.name(), SETTING, "Program hcube (empty: HCUBE, or the path)", "", valuetype=Setting.FILE)
        )
        ProcessingConfig.readSettings()
        self.refreshAlgorithms()
        return True

    def unload(self):
        ProcessingConfig.removeSetting(SETTING)

    def loadAlgorithms(self):
        try:
            described = usage()
        except ProgramError as error:
            QgsMessageLog.logMessage(str(error), "hcube", Qgis.Warning)
            return
        for word in words_of(described):
            self.addAlgorithm(Algorithm(word))
