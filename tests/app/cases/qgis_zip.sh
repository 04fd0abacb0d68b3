# The zip of the plug-in: what the repository of QGIS asks of it, and QGIS runs the stages of an unpacked one.
command -v python3 >/dev/null && command -v cmake >/dev/null || exit 77
export PYTHONDONTWRITEBYTECODE=1
root=$(cd "$here/../.." && pwd)
plugin() { cmake -DFILE=plugin.zip "$@" -P "$root/cmake/qgis_plugin.cmake"; }
plugin
only plugin.zip
! grep -E '://|example\.org' "$root/qgis/hcube_provider/metadata.txt" || fail "an address that is none"
! plugin -DREPOSITORY=nowhere 2>/dev/null || fail "an address that is none was taken"
only plugin.zip
plugin -DREPOSITORY=https://git.test/hcube # a host that cannot exist
python3 - "$root" <<'PYTHON'
import ast
import configparser
import re
import sys
import zipfile

with zipfile.ZipFile("plugin.zip") as plugin:
    assert plugin.testzip() is None
    files = {name: plugin.read(name) for name in plugin.namelist() if not name.endswith("/")}
    plugin.extractall("plugins")
assert sum(map(len, files.values())) < 20e6
folders = {name.split("/")[0] for name in files}
assert folders == {"hcube_provider"}, folders
parts = {name.partition("/")[2] for name in files}
assert {"__init__.py", "metadata.txt", "LICENSE", "icon.svg"} <= parts, parts
for part in parts:  # nothing hidden, generated or compiled
    assert re.fullmatch(r"[A-Za-z_]+(\.(py|txt|svg))?", part), part
for name, text in files.items():
    if name.endswith(".py"):
        defined = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        assert not name.endswith("__init__.py") or "classFactory" in defined

config = configparser.ConfigParser()
config.read_string(files["hcube_provider/metadata.txt"].decode("utf-8"))
general = config["general"]
for key in ("name", "description", "about", "version", "qgisMinimumVersion", "author", "email", "repository", "tracker"):
    assert general.get(key, "").strip(), f"metadata.txt lacks {key}"
assert re.fullmatch(r"[A-Za-z][A-Za-z0-9 _-]*", general["name"]), general["name"]
assert re.fullmatch(r"3\.\d+", general["qgisMinimumVersion"]), general["qgisMinimumVersion"]
assert re.fullmatch(r"\d+\.\d+\.\d+", general["version"]) and re.fullmatch(r"[^@ ]+@[^@ ]+", general["email"])
for key in ("homepage", "repository", "tracker"):
    assert re.fullmatch(r"https://[^ ]+", general[key]), general[key]
assert general["tracker"] == "https://git.test/hcube/issues", general["tracker"]
cited = open(f"{sys.argv[1]}/CITATION.cff", encoding="utf-8").read()
for key in ("author", "email"):  # one address for users, everywhere
    assert f": {general[key]}\n" in cited, general[key]
for key in ("hasProcessingProvider", "experimental", "deprecated"):
    assert general[key].lower() in ("yes", "no", "true", "false"), general[key]
assert general["icon"] in parts and len(general["description"]) < 200
for key in ("name", "description", "about"):
    assert not re.search(r"<[a-z]", general[key]), f"{key} has HTML"
PYTHON

qgis=$(command -v qgis_process.bin || command -v qgis_process) || exit 0
! sanitized || exit 0
export QT_QPA_PLATFORM=offscreen XDG_RUNTIME_DIR=$PWD/home HOME=$PWD/home QGIS_PLUGINPATH=$PWD/plugins
export HCUBE
HCUBE=$(realpath "$HCUBE")
mkdir -m 700 home
cp "$SAMPLE"/scene.{hdr,img} .
"$qgis" plugins enable hcube_provider >listed 2>&1 || fail "$(<listed)"
"$qgis" list >listed 2>&1 || fail "$(<listed)"
for stage in $("$HCUBE" stages | sed 's/ .*//'); do
    grep -q "hcube:$stage[[:space:]]" listed || fail "the plug-in lacks $stage: $(grep hcube: listed)"
done
"$qgis" run hcube:rx --INPUT="$PWD/scene.img" --OUTPUT="$PWD/rx.tif" >run.txt 2>&1 || fail "$(<run.txt)"
[[ -s rx.tif && -s rx.qml ]] || fail "no raster or no style: $(entries)"
