"""What `hcube --json-usage` prints follows docs/json-usage.schema.json, and lacks nothing that the help has."""

import json
import re
import subprocess
import unittest
from pathlib import Path

from support import Case, main

import hcube

try:
    import jsonschema
except ImportError:
    jsonschema = None
SCHEMA = Path(__file__).parents[2] / "docs/json-usage.schema.json"


def shown(*words):
    return subprocess.run([hcube.program(), *words], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


def usage(*words):
    return json.loads(shown(*words, "--json-usage"))


def parts(described):
    yield described
    for part in described["sub_algorithms"]:
        yield from parts(part)


@unittest.skipIf(jsonschema is None, "python3-jsonschema was not found")
class Schema(Case):
    def test_everything_follows_it(self):
        checker = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
        jsonschema.Draft7Validator.check_schema(checker.schema)
        for part in parts(usage()):
            described = usage(*part["full_path"][1:])
            self.assertEqual([error.message for error in checker.iter_errors(described)], [], part["full_path"])

    def test_it_finds_what_is_wrong(self):
        checker = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
        for change in ({"hcube_json_usage": 2}, {"name": "M n f"}, {"more": 1}, {"sub_algorithms": [{}]},
                       {"output_arguments": [usage("mnf")["input_arguments"][0]]}):
            self.assertFalse(checker.is_valid({**usage("mnf"), **change}), change)
        for change in ({"type": "number"}, {"default": []}, {"metadata": {"colour": 1}}, {"min_value": "3"}, {"required": "no"}):
            described = usage("knn")
            described["input_arguments"][0].update(change)
            self.assertFalse(checker.is_valid(described), change)


class Complete(Case):
    def test_every_command_and_option_of_the_help(self):
        described = {part["name"]: part for part in usage()["sub_algorithms"]}
        helped = set(re.findall(r"(?m)^  ([a-z]+)(?: .*)?  ", shown("help"))) - {"hcube", "help"}
        self.assertGreater(len(helped), 40)
        self.assertLessEqual(helped, set(described))
        seen = 0
        for part in parts(usage()):
            path = part["full_path"][1:]
            if not path:
                continue
            named = {argument["name"] for argument in part["input_arguments"]}
            text = subprocess.run([hcube.program(), *path, "--help", "all"], stdout=subprocess.PIPE, encoding="utf-8",
                                  env={"COLUMNS": "10000"}).stdout
            rows = re.findall(r"(?m)^  (?! )(?:[^ ]+, )?--([a-z][a-z0-9-]*)", text)
            self.assertLessEqual(set(rows) - {"help", "json-usage"}, named, path)
            seen += len(rows)
        self.assertGreater(seen, 1000)

    def test_words_that_are_no_options(self):
        for command, name in (("run", "chain"), ("plan", "chain"), ("batch", "chain"), ("stages", "stage"), ("man", "name"),
                              ("completion", "shell")):
            first = usage(command)["input_arguments"][0]
            self.assertEqual((first["name"], first["metadata"]["positional"]), (name, True))
        self.assertEqual(usage("completion")["input_arguments"][0]["choices"], ["bash", "zsh", "fish"])
        self.assertTrue(usage("run")["input_arguments"][0]["metadata"]["words"])


if __name__ == "__main__":
    main()
