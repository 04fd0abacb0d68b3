# Classes from the training polygons of the sample scene, held against its truth.
polygons=(--training "$SAMPLE/training.gpkg" --layer training --field class_name)
run 0 run read "$scene" ! mnf --components 10 --noise mean3x3 ! knn "${polygons[@]}" -k 5 --device cpu \
    --validation "$SAMPLE/training.gpkg" --validation-layer validation \
    --report accuracy.json --report accuracy.txt ! write crops.tif
[[ $err == *"knn: overall accuracy "*", kappa "*" validation pixels"* ]]
only accuracy.json accuracy.json.hcube.json accuracy.txt crops.tif crops.tif.hcube.json \
    $([[ ! -e crops.tif.aux.xml ]] || echo crops.tif.aux.xml)
grep -q '^kappa  *[01]\.' accuracy.txt
grep -q 'Kaolinite soil' accuracy.txt
run 0 info crops.tif
[[ $out == *class* ]]
# The true classes as validation data: their classes go by name, and training pixels are left out.
run 0 run read "$scene" ! mnf --components 10 --noise mean3x3 ! knn "${polygons[@]}" --validation "$SAMPLE/class.hdr" --report truth.json
[[ $err == *"validation pixels are training pixels too"* ]]
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON'
import json

for name, least, pixels in (("accuracy.json", 0.99, 300), ("truth.json", 0.95, 5000)):
    report = json.load(open(name))
    n = len(report["classes"])
    rows = [report["confusion_matrix"][r * (n + 1) : (r + 1) * (n + 1)] for r in range(n)]
    all_pixels = sum(map(sum, rows))
    assert report["training"].endswith(".gpkg") or "class" in report["training"], report
    assert ("split" in report) != ("validation" in report) and ("seed" in report) == ("split" in report), report
    right = sum(rows[c][c + 1] for c in range(n))
    chance = sum(sum(rows[c]) * sum(row[c + 1] for row in rows) for c in range(n)) / all_pixels**2
    assert n == 6 and all_pixels == report["validation_pixels"] > pixels, report
    assert abs(right / all_pixels - report["overall_accuracy"]) < 1e-15
    assert abs((right / all_pixels - chance) / (1 - chance) - report["kappa"]) < 1e-14
    assert report["overall_accuracy"] > least, report["overall_accuracy"]
record = json.load(open("crops.tif.hcube.json"))
result = record["steps"][2]["result"]
assert [c["name"] for c in result["classes"]][:2] == ["Asphalt", "Dry vegetation"], result
assert result["training_pixels"] == 379 and result["kappa"] > 0.99, result
PYTHON
fi
# As a command, with every band; and the same bytes for every number of threads.
for threads in 1 2 3; do
    run 0 knn "$scene" "map$threads.img" "${polygons[@]}" --confidence --distance --neighbours -k 3 --metric angle \
        --vote distance --scale unit-variance --threads "$threads" --device cpu
    cmp map1.img "map$threads.img"
done
[[ $(stat -c %s map1.img) == 240000 ]]
grep -q 'neighbour 3' map1.hdr
# A split is the same again.
run 0 run read "$scene" ! knn --training "$SAMPLE/class.hdr" --split 0.1 --seed 5 --report split.json
run 0 run read "$scene" ! knn --training "$SAMPLE/class.hdr" --split 0.1 --seed 5 --report again.json
cmp split.json again.json
# Plans read no pixel, but know the classes.
run 0 plan read "$scene" ! knn "${polygons[@]}" ! write plan.img
mkdir refused
cd refused
refuse 2 "class_id" knn "$scene" bad.img --training "$SAMPLE/training.gpkg" --layer training
refuse 2 "validation" knn "$scene" bad.img --training "$SAMPLE/training.gpkg" --field class_name
refuse 2 "no field 'nothing'" knn "$scene" bad.img --training "$SAMPLE/training.gpkg" --layer training --field nothing
refuse 3 "nowhere.gpkg" knn "$scene" bad.img --training nowhere.gpkg
refuse 2 "--training" knn "$scene" bad.img
refuse 2 "pca: the scene is a class map" pca "$SAMPLE/class.hdr" bad.img
refuse 2 "mnf: the scene is a class map" run read "$scene" ! knn "${polygons[@]}" ! mnf ! write bad.img
refuse 2 "cov: the scene is a class map" run read "$SAMPLE/class.hdr" ! cov bad.json
refuse 8 "chosen by --split" run read "$scene" ! knn --training "$SAMPLE/class.hdr" --k 100 --split 0.0001 ! write bad.img
cp "$SAMPLE/training.gpkg" mine.gpkg
before=$(cksum mine.gpkg)
refuse 2 "the chain reads this file" run read "$scene" --overwrite ! knn --training mine.gpkg --layer training \
    --field class_name ! write mine.gpkg
[[ $(cksum mine.gpkg) == "$before" ]]
only mine.gpkg

# The confusion matrix as a picture has the counts and names of the report, and those left unclassified in the last column.
mixed=(read "$scene" ! mnf --components 1 ! knn --training "$SAMPLE/training.gpkg" --layer training --field class_name -k 3
    --reject 0.05 --split 0.5)
run 0 run "${mixed[@]}" --report matrix.json --report matrix.svg --report matrix.png --report matrix.pdf
python3 - matrix.json matrix.svg <<'CHECK' || fail "matrix.svg is not the matrix of matrix.json"
import json, re, sys
report = json.load(open(sys.argv[1]))
svg = open(sys.argv[2]).read()
texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
n = len(report["classes"])
rows = [report["confusion_matrix"][r * (n + 1):(r + 1) * (n + 1)] for r in range(n)]
wanted = [str(count) for row in rows for count in row[1:] + row[:1] if count > 0]
assert [text for text in texts if text.isdigit()] == wanted and len(set(wanted)) > 3, (texts, wanted)
assert texts.count("unclassified") == texts.count("reference") == texts.count("classified as") == 1, texts
assert all(texts.count(name) == 2 for name in ["Water", "Asphalt", "Green vegetation"]), texts
assert "overall accuracy %.2f %%" % (100 * report["overall_accuracy"]) in svg
CHECK
[[ $(head -c 4 matrix.png | tail -c 3) == PNG && $(head -c 4 matrix.pdf) == %PDF ]] || fail "no PNG or no PDF"
refuse 2 "matrix.svg" run "${mixed[@]}" --report matrix.svg
# So many classes are not drawn, and found before the work.
header many 25 4 1 2 bsq
sed -i 's/^file type.*/file type = ENVI Classification/' many.hdr
printf 'classes = 66\nclass names = {Unclassified%s}\n' "$(printf ', class %d' {1..65})" >>many.hdr
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<100h", *[i % 66 for i in range(100)]))' >many.img
header wide 25 4 3 2 bsq
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<300h", *range(300)))' >wide.img
refuse 2 "65 classes ... at most 64" run read wide.hdr ! knn --training many.hdr -k 1 --validation many.hdr \
    --report many.svg
refuse 2 "or a picture (.png, .svg, .pdf)" run "${mixed[@]}" --report matrix.csv
