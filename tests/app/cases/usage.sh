# One description of the command line: help at the width of a terminal, manual pages, --json-usage, completion.
unset COLUMNS
names=$("$HCUBE" complete "" | sed -n '/^help\t/d; s/\t.*//p')
[[ $names == *$'\n'mnf$'\n'* && $names == *$'\n'batch$'\n'* ]] || fail "names: $names"

# Help and pages of everything: no line of the help is wider than 80 columns, and examples of stages run as they stand.
cp "${scene%.hdr}".* "$SAMPLE"/{library,endmembers}.{sli,hdr} "$SAMPLE/training.gpkg" .
for name in $names "solve l1" "solve lp" "library import" "library merge" "library select" "library plot"; do
    run 0 $name --help
    wide=$(grep -E '.{81}' <<<"$out") && fail "$name --help is wider than 80 columns: $wide"
    COLUMNS=50 run 0 $name --help
    run 0 man $name
    [[ $out == ".TH \"hcube\\-${name// /\\-}\" 1 "*".SH NAME"*".SH SYNOPSIS"*".SH \"EXIT STATUS\""* ]] || fail "page of $name: $out"
    wide=$(sed 's/\\:/ /g' <<<"$out" | grep -E '[^ ]{70}') && fail "page of $name has a word without a place to end a line: $wide"
    run 0 $name --json-usage
    [[ $out == *"\"${name##* }\""* && $out == *'"input_arguments"'* ]] || fail "JSON of $name: $out"
    long=$(sed -n 's/.*"description":\t"\(.*\)".*/\1/p' <<<"$out" | sed 's/[.?!] /&\n/g' | awk 'NF > 25')
    [[ ! $long ]] || fail "help of $name has a sentence of more than 25 words: $long"
done
for stage in $("$HCUBE" stages | sed 's/ .*//'); do
    COLUMNS=500 run 0 "$stage" --help
    example=$(sed -n '/^Example/{n;s/^  hcube //p}' <<<"$out")
    [[ $example == "$stage scene.hdr"* ]] || fail "$stage has no example: '$example'"
    run 0 $example --overwrite
done
run 0 --help
[[ $out == "hcube "*"Examples"*"Process"*"  run "*"Stages"*"  mnf "*"Exit codes"* ]] || fail "$out"
COLUMNS=60 run 0 knn --help # a command that goes on in the next line can be copied
[[ $out == *"class_name "*"\\"$'\n'* || $out == *"\\"$'\n'* ]] || fail "$out"
COLUMNS=500 run 0 run read scene.hdr ! mnf --help
[[ $out == "mnf: "* && $out != *"Options of reading"* ]] || fail "$out"
COLUMNS=500 run 0 batch --help
[[ $out == "batch: "*"--scenes LIST|GLOB|DIR"* ]] || fail "$out"
refuse 2 "man: nothing: neither" man nothing
refuse 2 "man: more: one word too many" man mnf more

# --json-usage has the keys of GDAL's schema, and types, ranges and choices of the table.
if command -v python3 >/dev/null; then
    "$HCUBE" --json-usage | python3 -c '
import json, sys
keys = {"name", "full_path", "description", "short_url", "url", "sub_algorithms", "input_arguments", "output_arguments",
        "input_output_arguments", "pipeline_algorithms"}
argument_keys = {"name", "type", "description", "metavar", "choices", "default", "min_value", "min_value_is_included", "max_value",
                 "max_value_is_included", "required", "packed_values_allowed", "repeated_arg_allowed", "min_count", "max_count",
                 "category", "metadata", "dataset_type", "input_flags"}
types = {"boolean", "integer", "real", "string", "dataset", "string_list"}
def check(a):
    assert set(a) <= keys and keys - {"short_url", "url", "pipeline_algorithms"} <= set(a), a.keys()
    for x in a["input_arguments"]:
        assert set(x) <= argument_keys and x["type"] in types, x
        assert isinstance(x["required"], bool) and x["category"] and x["description"], x
    for part in a["sub_algorithms"] + a.get("pipeline_algorithms", []):
        check(part)
top = json.load(sys.stdin)
assert top.pop("hcube_json_usage") == 1
check(top)
part = {p["name"]: p for p in top["sub_algorithms"]}
knn = {x["name"]: x for x in part["knn"]["input_arguments"]}
assert (knn["k"]["min_value"], knn["k"]["max_value"], knn["k"]["default"]) == (1, 128, 5), knn["k"]
assert knn["metric"]["choices"] == ["euclidean", "angle"] and knn["metric"]["default"] == "euclidean"
assert knn["training"]["required"] and knn["path"]["type"] == "dataset"
assert part["knn"]["full_path"] == ["hcube", "knn"]
assert [p["full_path"] for p in part["solve"]["sub_algorithms"]] == [["hcube", "solve", "l1"], ["hcube", "solve", "lp"]]
assert "mnf" in [p["name"] for p in part["run"]["pipeline_algorithms"]]
' || fail "--json-usage"
fi

# offers WORD... = CANDIDATE...: what completes the last word: these candidates, and what the shell adds.
offers() {
    local words=() shown
    while [[ $1 != = ]]; do
        words+=("$1") && shift
    done
    shift
    shown=$("$HCUBE" complete "${words[@]}" | sed 's/\t.*//' | tr '\n' ' ')
    [[ $shown == "$* " ]] || fail "hcube ${words[*]}: offers '$shown' and not '$*'"
}
offers mn = mnf :words
offers mnf scene.hdr out.tif --noise- = --noise-matrix --noise-window :words
offers mnf --noise-matrix f = full :words
offers mnf --overwrite= = :words # a flag
# What an option that is given excludes is not offered.
offers mnf --inverse --keep = :words
offers mnf --keep = --keep-all :words
offers svd --tiled --ste = :words
offers svd --ste = --step :words
offers mnf --model "" = ":files *.json"
offers mnf --components 3 --compon = :words # it is given already
# What is said of a word ends behind a whole one.
run 0 complete batch mnf --rep
[[ $out == --report$'\t'"write a report of each scene beside its output, and this page with a picture of ..."* ]] || fail "says $out"
offers run --device g = gpu :words
offers run --device cpu rea = read ":files *.hcube"
offers run read scene.hdr ! mn = mnf :words
offers run read scene.hdr ! mnf "" = ! :words
offers run read scene.hdr ! mnf --thr = --threads :words
offers run "" = read ":files *.hcube"
offers --vers = --version :words
offers batch mnf --sce = --scenes :words
offers solve "" = l1 lp :words
offers library "" = import merge select convert plot :words
offers library import a.asd --wav = --wavelengths :words
offers solve lp m.mps --ver = --verify :words
offers write scene.hdr x.tif --compress z = zstd :words
offers completion "" = bash zsh fish :words
# Words beside a file, help, the short form behind plan, and records.
offers mnf --noise reg = regression ":files *"
offers denoise --noise wh = white ":files *"
offers he = help :words
offers help sol = solve :words
offers help solve "" = l1 lp :words
offers help mnf "" = :words
# A whole command line stands behind plan, that of a run behind batch.
offers plan ba = bands batch ":files *.hcube"
offers plan run mnf --noise-m = --noise-matrix :words
offers plan batch run mnf --jo = --jobs :words
offers batch run mnf --jo = --jobs :words
offers run ba = ":files *.hcube"
offers plan mnf scene.hdr out.tif --noise-m = --noise-matrix :words
[[ $("$HCUBE" complete plan mnf "") == ":files "*"*.hdr"* ]] || fail "the scene of plan STAGE"
offers plan mnf scene.hdr "" = ":files *"
offers rerun "" = ":files *.json"
offers diff a.json "" = ":files *.json"
[[ $("$HCUBE" complete mnf "") == ":files "*"*.hdr"* ]] || fail "files of a scene"

# The script of bash, with the line as bash hands it over.
source <("$HCUBE" completion bash)
compopt() { :; }
PATH=$(dirname "$HCUBE"):$PATH
# completes LINE = WORD...
completes() {
    COMP_LINE=$1
    COMP_POINT=${#COMP_LINE}
    shift 2
    _hcube
    [[ $(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | tr '\n' ' ') == "$* " ]] || fail "$COMP_LINE: completes to '${COMPREPLY[*]}' and not '$*'"
}
mkdir -p tab/folder
cd tab
touch model.json model.txt scene.hdr scene.img scene.txt
completes "hcube mn" = mnf
completes "hcube mnf --model mod" = model.json
completes "hcube run read sce" = scene.hdr scene.img
completes "hcube run read fol" = folder
completes "hcube run read scene.hdr ! mn" = mnf
completes "hcube mnf --device gpu" = gpu
completes "hcube mnf a\\ b" =
completes "hcube mnf 'a b" =
# Behind words in quotes, as patterns of a batch are.
completes "hcube batch mnf --scenes 'in/*.hdr' --outp" = --output
completes 'hcube mnf "two words.hdr" two\ words.tif --noise-w' = --noise-window
completes 'hcube run --device "cpu" read sce' = scene.hdr scene.img
completes 'hcube run read two\ sce' =
completes "hcube info sce" = scene.hdr scene.img
touch .hidden.json
completes "hcube rerun " = folder model.json
completes "hcube rerun ./.h" = ./.hidden.json
rm .hidden.json
cd ..
for shell in zsh fish; do
    command -v $shell >/dev/null || continue
    "$HCUBE" completion $shell >script.$shell
    $shell -n script.$shell || fail "the script for $shell"
done
# In fish: files by their type, folders, words.
if command -v fish >/dev/null; then
    (
        cd tab
        mkdir -p "sub folder"
        touch "a b.json"
        offered() { # LINE = CANDIDATE...
            local shown
            shown=$(HOME=$PWD fish --no-config -c "source ../script.fish; complete -C '$1'" | sed 's/\t.*//' | LC_ALL=C sort | tr '\n' ' ')
            shift 2
            [[ $shown == "$* " ]] || fail "fish offers '$shown' and not '$*'"
        }
        offered "hcube mn" = mnf
        offered "hcube mnf --model mo" = model.json
        offered "hcube mnf --model=mo" = --model=model.json
        offered "hcube mnf --model " = "a b.json" folder/ model.json "sub folder/"
        offered "hcube info s" = scene.hdr scene.img "sub folder/"
        offered "hcube run read scene.hdr ! mnf --noise regr" = regression
    )
fi
refuse 2 "completion: which shell?" completion
refuse 2 "completion: tcsh ... bash, zsh or fish" completion tcsh
