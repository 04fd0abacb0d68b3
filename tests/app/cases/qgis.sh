# The provider in QGIS itself: qgis_process finds it, runs stages, commands and chains, and fails as the program does.
# Where there is no QGIS, qgis_words.sh still tests what needs none.
qgis=$(command -v qgis_process.bin || command -v qgis_process) || exit 77
! sanitized || exit 77 # nothing but the program's own time
export QT_QPA_PLATFORM=offscreen PYTHONDONTWRITEBYTECODE=1 XDG_RUNTIME_DIR=$PWD HOME=$PWD/home
QGIS_PLUGINPATH=$(cd "$here/../../qgis" && pwd)
export HCUBE QGIS_PLUGINPATH
HCUBE=$(realpath "$HCUBE")
cp "$SAMPLE"/scene.{hdr,img} . # QGIS writes statistics beside what it opens
scene=$PWD/scene.hdr
mkdir -m 700 home
chmod 700 .

# process STATUS WORD...: qgis_process with these words; STATUS is 0 or 1 (any failure).
process() {
    local expected=$1 status=0
    shift
    "$qgis" "$@" >"$folder".out 2>"$folder".err </dev/null || status=$?
    out=$(cat "$folder".out "$folder".err)
    rm -f "$folder".out "$folder".err
    [[ $((status != 0)) == "$expected" ]] || fail "qgis_process $*: exit code $status: $out"
}

process 0 plugins enable hcube_provider
process 0 list
for word in mnf knn unmix write compare solve_lp run; do
    [[ $out == *"hcube:$word"* ]] || fail "the provider lacks $word"
done
process 0 run hcube:mnf --INPUT="$PWD/scene.img" --COMPONENTS=5 --QML=1 --OUTPUT="$PWD/mnf.tif"
[[ -s mnf.tif && -s mnf.qml && $out == *"OUTPUT:"*"mnf.tif"* ]] || fail "mnf: $out"
run 0 info mnf.tif --json
[[ $out =~ \"bands\":[[:space:]]*5, ]] || fail "mnf.tif: $out"
# A header, which QGIS does not open; a parameter of a choice; a JSON file as output.
process 0 run hcube:filter --INPUT="$scene" --KIND=median3x3 --OUTPUT="$PWD/median.tif"
process 0 run hcube:noise --INPUT="$scene" --OUTPUT="$PWD/noise.json"
[[ -s median.tif && -s noise.json ]] || fail "no median.tif or noise.json"
process 0 run hcube:run --CHAIN="read '$scene' ! mnf --components 3 ! write chain.tif"
[[ -s chain.tif ]] || fail "no chain.tif: $out"
# A model: components of a scene, and clusters of them.
if /usr/bin/python3 -c 'import qgis.core' 2>/dev/null; then
    /usr/bin/python3 - "$QGIS_PLUGINPATH" chained.model3 2>python.err <<'PYTHON' || fail "$(cat python.err)"
import sys

from qgis.core import (QgsApplication, QgsProcessingModelAlgorithm, QgsProcessingModelChildAlgorithm,
                       QgsProcessingModelChildParameterSource as Source, QgsProcessingModelOutput,
                       QgsProcessingModelParameter, QgsProcessingParameterRasterLayer)

sys.path += ["/usr/share/qgis/python/plugins", sys.argv[1]]
application = QgsApplication([], False)
application.initQgis()
from hcube_provider.provider import Provider

provider = Provider()
assert QgsApplication.processingRegistry().addProvider(provider)
model = QgsProcessingModelAlgorithm("chained", "tests")
model.addModelParameter(QgsProcessingParameterRasterLayer("scene", "scene"), QgsProcessingModelParameter("scene"))
for name, values in (("mnf", {"INPUT": Source.fromModelParameter("scene"), "COMPONENTS": Source.fromStaticValue(3)}),
                     ("kmeans", {"INPUT": Source.fromChildOutput("mnf", "OUTPUT"),
                                 "CLUSTERS": Source.fromStaticValue(4)})):
    child = QgsProcessingModelChildAlgorithm("hcube:" + name)
    child.setChildId(name)
    for key, value in values.items():
        child.addParameterSources(key, [value])
    if name == "kmeans":
        output = QgsProcessingModelOutput("map")
        output.setChildId(name)
        output.setChildOutputName("OUTPUT")
        child.setModelOutputs({"map": output})
    model.addChildAlgorithm(child)
right, faults = model.validate()
assert right, faults
assert model.toFile(sys.argv[2])
PYTHON
    process 0 run chained.model3 --scene="$PWD/scene.img" --kmeans:map="$PWD/map.tif"
    [[ -s map.tif && $out == *"Executed 2 algorithms"* ]] || fail "the model: $out"
fi
process 1 run hcube:filter --INPUT="$scene" --KIND=median --OUTPUT="$PWD/none.tif"
[[ $out == *"KIND: median is no valid value"* ]] || fail "a kind that is none: $out"
process 1 run hcube:mnf --INPUT="$scene" --COMPONENTS=0 --OUTPUT="$PWD/none.tif"
[[ $out == *"--components 0"* && ! -e none.tif ]] || fail "components 0: $out"
