"""Words of hcube and their arguments, from what `hcube --json-usage` prints. Knows nothing of QGIS."""

# They describe the program, or write a script for a shell: nothing that a toolbox can use.
LEFT_OUT = {"completion", "man"}
# What the provider decides itself: files are replaced as QGIS expects it, progress goes to its bar.
DECIDED = {"overwrite", "quiet", "progress"}


class Argument:
    """One argument of a word: `parameter` is its name in QGIS, `flag` its option (None: by place)."""

    def __init__(self, described, taken):
        meta = described["metadata"]
        self.name = described["name"]
        self.type = described["type"]
        self.help = described["description"]
        self.metavar = described.get("metavar", "")
        self.required = described["required"]
        self.choices = described.get("choices")
        self.default = described.get("default")
        self.low = described.get("min_value")
        self.high = described.get("max_value")
        self.unit = meta.get("unit")
        self.otherwise = meta.get("default_means")
        self.file = meta.get("file")
        self.advanced = described["category"] not in ("Base", "Options of this command")
        # A chain, or the name of a stage; files of one place are a list.
        self.is_words = self.file is None and (meta.get("words", False) or described["name"] == "stage")
        # Only what is required goes by place: the order of the command line is scene first, then output.
        self.by_place = self.required and meta.get("positional", False) and not self.is_words
        self.flag = None if self.by_place or self.is_words else "--" + self.name
        self.parameter = self.parameter_name(taken)
        taken.add(self.parameter)

    def parameter_name(self, taken):
        if self.by_place and self.name in ("path", "scene"):
            return "INPUT"
        if self.by_place and self.name == "output":
            return "OUTPUT"
        name = self.name.upper().replace("-", "_")
        # `svd` has an option --output, which says what to write, beside the file.
        return name + "_OPTION" if name in taken else name

    def is_scene_read(self):
        return self.type == "dataset" and self.file != "written"

    def is_raster_written(self):
        return self.type == "dataset" and self.file == "written"

    def label(self):
        text = self.help[:1].upper() + self.help[1:]
        return f"{text} [{self.unit}]" if self.unit else text


class Word:
    """A stage or a command: its path on the command line, and its arguments in the order of that line."""

    def __init__(self, described, path):
        self.path = path
        self.id = "_".join(path)
        self.summary = described["description"]
        self.is_stage = any(a["name"] == "path" and a["metadata"].get("positional") and a["category"] != "Base"
                            for a in described["input_arguments"]) or path == ["read"]
        inputs = list(described["input_arguments"])
        own = {a["name"] for a in inputs}
        self.decided = DECIDED & own
        self.overwrite_is_flag = any(a["name"] == "overwrite" and a["type"] == "boolean" for a in inputs)
        kept = [a for a in inputs if a["name"] not in DECIDED]
        # Those by place first: they have the plain names.
        first = [a for a in kept if a["required"] and a["metadata"].get("positional")]
        first.sort(key=lambda a: a["metadata"].get("file") == "written")
        taken = set()
        self.arguments = [Argument(a, taken) for a in first + [a for a in kept if a not in first]]

    def command(self, values):
        """The words after the program. values: by parameter; None or an empty text: not given."""
        line = list(self.path)
        if "progress" in self.decided:
            line += ["--progress", "json"]
        if "overwrite" in self.decided:
            line.append("--overwrite")
        places, words = [], []
        for argument in self.arguments:
            value = values.get(argument.parameter)
            if value is None or value == "" or value == [] or value is False:
                continue
            if argument.is_words:
                words += value
            elif argument.by_place:
                places += value if isinstance(value, list) else [str(value)]
            elif value is True:
                line.append(argument.flag)
            elif isinstance(value, list):
                for one in value:
                    line += [argument.flag, one]
            else:
                line += [argument.flag, str(value)]
        return line + places + words


def words_of(described, path=()):
    """All words, commands of commands (solve lp) included."""
    for part in described["sub_algorithms"]:
        own = [*path, part["name"]]
        if part["name"] in LEFT_OUT and not path:
            continue
        if part["sub_algorithms"]:
            yield from words_of(part, own)
        else:
            yield Word(part, own)
