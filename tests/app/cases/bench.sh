run 0 bench --size 20x30x8 --device cpu --json results.json --repetitions 1 --matrices 20 --dense 1
[[ $out == *chain-mnf* && $out == *"same bits"* && $out == *floor* && -z $err ]]
only results.json
# A row: operation, by, time, range, GB/s, Gop/s, floor, of, times the floor, times faster, checked.
number='(-|[0-9]+(\.[0-9]+)?)'
row=$'\n'"knn +serial +$number (us|ms|s) [^"$'\n'"]*"$'\n'" +cpu +$number (us|ms|s) +[0-9]+% +$number +$number +$number (us|ms|s) +[a-z0-9]+ +$number +$number  same bits"
[[ $out =~ $row ]] || fail "the row of knn: $out"
device=$'\n'"cpu  "[^$'\n']*", "[0-9]+" threads?"$'\n'"     ceilings, measured "[^$'\n']*": memory "[^$'\n']*" GB/s;"[^$'\n']*$'\n'"     vendor: "
[[ $out =~ $device ]] || fail "the device: $out"
refuse 2 "results.json" bench --size 20x30x8 --json results.json
run 0 bench --size 20x30x8 --device cpu --json - --only chain --bits 12 --components 3 --repetitions 1
[[ $out == "{"* && $out == *chain-mnf* && $out != *nan* && $out != *inf* ]]
run 0 bench --size 20x30x8 --device cpu --only gram,eigh --no-serial --threads 1 --repetitions 2
[[ $out == *gram-float* && $out == *gram-float* && $out != *"same bits"* && $out != *decode* ]]
run 0 bench --size 20x30x8 --device cpu --serial --only gram --repetitions 1
run 0 bench --size 20x30x8 --device cpu --only knn,vote --training 40 -k 3 --repetitions 1
[[ $out == *"40 training spectra, 3 neighbours"* && $out == *knn-angle* && $out == *vote* && $out == *"same bits"* ]]
run 0 bench --size 20x30x8 --device cpu --only vote --training 40 --neighbours 3 --repetitions 1 --no-serial
[[ $out != *knn* ]]
run 0 bench --size 20x30x8 --device cpu --only svd-16,eigh-graded --matrices 3 --repetitions 1 --no-serial
[[ $out == *"batches of 3 matrices"* && $out == *"within rounding"*"3 matrices; off by"* && $out == *"128 matrices; cgesdd, off by"* ]]
[[ $out == *dgejsv* && $out != *svd-32* ]] # how many matrices are measured depends on the machine's load
run 0 bench --help
[[ $out == *chain-covariances* && $out == *--repetitions* ]]
if command -v python3 >/dev/null; then
    python3 - results.json <<'PYTHON'
import json, math, sys
result = json.load(open(sys.argv[1]))
assert (result["lines"], result["samples"], result["bands"], result["components"]) == (20, 30, 8, 8)
rows = {(row["operation"], row["by"]): row for row in result["rows"]}
expected = """decode-bil decode-bsq decode-bip decode-swapped gather filter-mean3x3 filter-median3x3
    difference-mean3x3 gram-none gram-mean3x3 gram-float gram-float-mean3x3 project reduce-squares reduce-angle column_filters column_scores column_scores-ace knn knn-angle vote eigh eigh-graded svd-16 svd-32 svd-64
    svd-16-complex svd-32-complex svd-64-complex svd-16-complex-128 patches groups gemv-1024x65536 gemv_t-4194304x16 fista-1024x65536 alm-1024x65536 fit-mnf chain-covariances
    chain-mnf""".split()
for name in expected:
    assert (name, "cpu") in rows, name
for name in ("decode-bil", "gram-none", "gram-mean3x3", "project", "knn", "knn-angle", "eigh-graded", "chain-covariances",
             "chain-mnf"):
    assert (name, "serial") in rows and rows[name, "cpu"]["times_faster_than_serial"] > 0, name
    assert rows[name, "cpu"]["checked"] != "no", name
for name in ("knn", "knn-angle"):
    assert rows[name, "cpu"]["checked"] == "same bits", name
    assert rows[name, "cpu"]["operations"] == 2 * 20 * 30 * 8 * 5000, name
assert (result["training"], result["neighbours"], result["matrices"]) == (5000, 10, 20)
for name, matrices, entry in (("svd-32", 20, 4), ("svd-64-complex", 20, 8), ("svd-16-complex-128", 128, 8)):
    n = int(name.split("-")[1])
    for by in ("cpu", "cpu vendor"):
        row = rows[name, by]
        assert row["checked"] == "within rounding" and "off by " in row["how"], row
        assert row["matrices"] == matrices and row["lines_measured"] is None, row
        assert 0 < row["matrices_measured"] <= matrices and row["bytes"] == matrices * (3 * n * n * entry + 4 * n), row
assert rows["patches", "cpu"]["checked"] == "within rounding" and rows["patches", "cpu"]["matrices"] is None
assert rows["patches", "cpu"]["bytes"] == 20 * 30 * (8 * 8 + 2)
for name in ("gemv-1024x65536", "gemv_t-4194304x16", "fista-1024x65536", "alm-1024x65536"):
    assert rows[name, "cpu"]["checked"] == "within rounding" and "from " in rows[name, "cpu"]["how"], name
assert rows["fista-1024x65536", "cpu"]["times_faster_than_serial"] > 0
for name in ("gram-none", "project", "eigh"):
    assert (name, "cpu vendor") in rows, name
for row in result["rows"]:
    for value in row.values():
        assert not isinstance(value, float) or math.isfinite(value), row
    assert 0 < row["seconds_least"] <= row["seconds"] <= row["seconds_most"], row
    for rate, of in (("bytes_per_second", "bytes"), ("operations_per_second", "operations")):
        assert (row[rate] is None) == (row[of] is None), row
        assert row[of] is None or math.isclose(row[rate], row[of] / row["seconds"], rel_tol=1e-9), row
    assert (row["floor_seconds"] is None) == (row["times_floor"] is None), row
    if row["floor_seconds"] is not None:
        assert math.isclose(row["times_floor"], row["seconds"] / row["floor_seconds"], rel_tol=1e-9), row
        assert row["floor_of"], row
assert len(result["devices"]) == 1
device = result["devices"][0]
assert device["by"] == "cpu" and device["ceilings"]["measured"] and device["ceilings"]["memory_bytes_per_second"] > 0
PYTHON
fi
for size in 20x30 20x30x8x2 x30x8 20x30x0 20x-3x8 ten 4000000x1x1 20x30x8q; do
    refuse 2 "--size $size" bench --size "$size"
done
refuse 2 "too few pixels" bench --size 4x4x8
refuse 2 "'gramm' is no operation" bench --size 20x30x8 --only eigh,gramm
refuse 2 "--bits" bench --bits 17
refuse 2 "--components 9" bench --size 20x30x8 --components 9
refuse 2 "--neighbours 10" bench --size 20x30x8 --training 9
refuse 2 "--neighbours" bench --size 20x30x8 -k 129
refuse 2 "--training" bench --size 20x30x8 --training 0
refuse 2 "--matrices" bench --size 20x30x8 --matrices 0
refuse 2 "--matrices" bench --size 20x30x8 --matrices 1000001
refuse 2 "--dense" bench --size 20x30x8 --dense 0
refuse 2 "give one of --serial and --no-serial" bench --size 20x30x8 --serial --no-serial
refuse 2 "--device" bench --size 20x30x8 --device tpu
only results.json
