"""An algorithm of Processing, made of a word of hcube."""

import os
import re
import shlex

from qgis.core import (
    QgsProcessingAlgorithm,
    QgsProcessingException,
    QgsProcessingOutputString,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterEnum,
    QgsProcessingParameterFile,
    QgsProcessingParameterFileDestination,
    QgsProcessingParameterNumber,
    QgsProcessingParameterRasterDestination,
    QgsProcessingParameterRasterLayer,
    QgsProcessingParameterString,
)

from .program import ProgramError, run

PRINTED = "PRINTED"  # what the program printed to standard output


def is_file(value):
    return isinstance(value, str) and os.path.isfile(value)


def file_filter(metavar):
    """NOISE.json -> JSON files; FIGURE and the like -> any file."""
    endings = re.findall(r"\.([a-z0-9]+)", metavar)
    kinds = [f"{ending.upper()} files (*.{ending})" for ending in endings]
    return ";;".join(kinds or (["PNG files (*.png)", "SVG files (*.svg)", "PDF files (*.pdf)"]
                               if metavar == "FIGURE" else ["All files (*.*)"]))


def is_plain_file(argument):
    """No FILE:BAND, no glob, and no word (as --noise takes) in place of a file."""
    return argument.metavar == "FILE" or argument.metavar.endswith(".json") or argument.by_place


def number(argument):
    kind = QgsProcessingParameterNumber.Integer if argument.type == "integer" else QgsProcessingParameterNumber.Double
    made = QgsProcessingParameterNumber(
        argument.parameter, argument.label(), kind, argument.default, optional=not argument.required
    )
    if argument.low is not None:
        made.setMinimum(argument.low)
    if argument.high is not None:
        made.setMaximum(argument.high)
    return made


def parameter(argument):
    """The parameter of QGIS for an argument."""
    name, label, optional = argument.parameter, argument.label(), not argument.required
    if argument.is_raster_written():
        return QgsProcessingParameterRasterDestination(name, label, optional=optional)
    if argument.is_scene_read():
        return QgsProcessingParameterRasterLayer(name, label, optional=optional)
    if argument.type == "boolean":
        return QgsProcessingParameterBoolean(name, label, bool(argument.default), optional=True)
    if argument.type in ("integer", "real"):
        return number(argument)
    if argument.choices:
        return QgsProcessingParameterEnum(
            name, label, argument.choices, False, argument.default, optional, usesStaticStrings=True
        )
    if argument.type == "string_list" and not argument.is_words:
        return QgsProcessingParameterString(name, label + " (one a line)", None, True, optional)
    if argument.file == "written" and argument.metavar != "PATTERN" and "|none" not in argument.metavar:
        return QgsProcessingParameterFileDestination(
            name, label, file_filter(argument.metavar), None, optional, createByDefault=argument.required
        )
    if argument.file == "read" and is_plain_file(argument):
        return QgsProcessingParameterFile(name, label, optional=optional)
    return QgsProcessingParameterString(name, label, argument.default, argument.is_words, optional)


class Algorithm(QgsProcessingAlgorithm):
    def __init__(self, word):
        super().__init__()
        self.word = word

    def createInstance(self):
        return Algorithm(self.word)

    def name(self):
        return self.word.id

    def displayName(self):
        return f"{' '.join(self.word.path)}: {self.word.summary}"

    def group(self):
        return "Stages" if self.word.is_stage else "Commands"

    def groupId(self):
        return self.group().lower()

    def shortDescription(self):
        return self.word.summary

    def shortHelpString(self):
        lines = [self.word.summary + "."]
        for argument in self.word.arguments:
            if argument.otherwise:
                lines.append(f"{argument.name}: {argument.help}. Default: {argument.otherwise}")
        return "\n\n".join(lines)

    def initAlgorithm(self, config=None):
        for argument in self.word.arguments:
            made = parameter(argument)
            if argument.advanced and not argument.by_place:
                made.setFlags(made.flags() | QgsProcessingParameterDefinition.FlagAdvanced)
            self.addParameter(made)
        self.addOutput(QgsProcessingOutputString(PRINTED, "What the program printed"))

    def checkParameterValues(self, parameters, context):
        """A scene may be a file that QGIS itself cannot open, such as an ENVI header: the program judges it."""
        files = {a.parameter for a in self.word.arguments if a.is_scene_read() and is_file(parameters.get(a.parameter))}
        for made in self.parameterDefinitions():
            name, value = made.name(), parameters.get(made.name(), made.defaultValue())
            if name not in files and not made.checkValueIsAcceptable(value, context):
                return False, f"{name}: {value} is no valid value"
        return True, ""

    def scene(self, name, parameters, context):
        value = parameters.get(name)
        if is_file(value):
            return value
        layer = self.parameterAsRasterLayer(parameters, name, context)
        if layer is None:
            return None
        return layer.source().split("|")[0]

    def value(self, argument, parameters, context):
        """What goes to the command line; None: nothing."""
        name = argument.parameter
        if argument.is_raster_written():
            return self.parameterAsOutputLayer(parameters, name, context)
        if argument.is_scene_read():
            return self.scene(name, parameters, context)
        if argument.type == "boolean":
            return self.parameterAsBool(parameters, name, context)
        given = parameters.get(name)
        if given is None or given == "":
            return None
        made = self.parameterDefinition(name)
        if made.isDestination():
            return self.parameterAsFileOutput(parameters, name, context)
        if argument.type == "integer":
            return self.parameterAsInt(parameters, name, context)
        if argument.type == "real":
            return repr(self.parameterAsDouble(parameters, name, context))
        if argument.choices:
            return self.parameterAsEnumString(parameters, name, context)
        text = self.parameterAsString(parameters, name, context)
        if argument.is_words:
            return shlex.split(text)
        if argument.type == "string_list":
            return [line.strip() for line in text.splitlines() if line.strip()]
        return text

    def processAlgorithm(self, parameters, context, feedback):
        values = {a.parameter: self.value(a, parameters, context) for a in self.word.arguments}
        try:
            printed = run(self.word.command(values), feedback)
        except (ProgramError, OSError) as error:
            raise QgsProcessingException(str(error)) from error
        results = {
            made.name(): values[made.name()]
            for made in self.parameterDefinitions()
            if made.isDestination() and values.get(made.name())
        }
        return {**results, PRINTED: printed}
