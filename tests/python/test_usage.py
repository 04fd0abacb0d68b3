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
ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "docs/json-usage.schema.json"


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
            places = {a["name"] for a in part["input_arguments"] if a["metadata"].get("positional")}
            self.assertEqual(named - places, set(rows) - places, path)
            seen += len(rows)
        self.assertGreater(seen, 1000)

    def test_every_option_of_the_tables(self):
        """Rows of the tables in the sources are described, and a word takes no option that its description lacks."""
        row = re.compile(r"HC_(?:FLAG|INT|REAL|SIZE|TEXT|CHOICE|LIST)\(\s*\w+,\s*(\w+)(?:,\s*\"([a-z0-9-]+)\")?\s*\)")
        tables, shared = set(), set()
        for source in [*(ROOT / "app").rglob("*.c"), *(ROOT / "pipeline").rglob("*.c")]:
            found = {name or field for field, name in row.findall(source.read_text())}
            tables |= found
            shared |= found if source.name == "common.c" else set()
        words = [part for part in parts(usage()) if not part["sub_algorithms"]]
        described = {argument["name"] for part in words for argument in part["input_arguments"]}
        self.assertGreater(len(tables), 200)
        self.assertEqual(tables - described, set())
        tried = sorted(tables | described)
        refused = re.compile("unknown option|the option is called")
        for place, part in enumerate(words):
            named = {argument["name"]: argument["metadata"].get("positional") for argument in part["input_arguments"]}
            if all(named.values()):
                continue  # it has no table
            for name in (shared | set(tried[place % 25 :: 25])) - set(named):
                done = subprocess.run([hcube.program(), *part["full_path"][1:], f"--{name}"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, refused)

    def test_words_that_are_no_options(self):
        for command, name in (("run", "chain"), ("plan", "chain"), ("batch", "chain"), ("stages", "stage"), ("man", "name"),
                              ("completion", "shell")):
            first = usage(command)["input_arguments"][0]
            self.assertEqual((first["name"], first["metadata"]["positional"]), (name, True))
        self.assertEqual(usage("completion")["input_arguments"][0]["choices"], ["bash", "zsh", "fish"])
        self.assertTrue(usage("run")["input_arguments"][0]["metadata"]["words"])


if __name__ == "__main__":
    main()
