# Every stage as a command, and what it must leave.
run 0 read "$scene" read.img
run 0 write "$scene" write.img
cmp read.img write.img
run 0 run read "$scene" ! write run.img
cmp read.img run.img
run 0 bands "$scene" bands.img --keep 1-5
[[ $(stat -c %s bands.img) == 100000 ]]
run 0 filter "$scene" filter.img --kind median3x3
[[ $(stat -c %s filter.img) == 2360000 ]]
run 0 cov "$scene" cov.json --noise shift
grep -q '"shift"' cov.json
run 0 pca "$scene" pca.tif --components 3
[[ -s pca.tif ]]
run 0 mnf "$scene" mnf.img --components 3 --interleave bip --device cpu
[[ $(stat -c %s mnf.img) == 120000 ]]
run 0 preview "$scene" preview.png
[[ $(head -c 4 preview.png | tail -c 3) == PNG ]]
run 0 info "$scene"
[[ $out == *UTM* || $out == *64* ]]
run 0 info --json "$scene"
[[ $out == "{"* ]]
# A record beside each output.
for file in read.img write.img bands.img filter.img pca.tif mnf.img; do
    [[ -s $file.hcube.json ]] || fail "$file has no record"
done
if command -v python3 >/dev/null; then
    python3 - mnf.img.hcube.json <<'PYTHON'
import json, sys
record = json.load(open(sys.argv[1]))
assert record["command"].startswith("hcube mnf"), record["command"]
import os, shlex
assert ["hcube"] + record["arguments"] == shlex.split(record["command"]), record["arguments"]
assert os.path.samefile(record["folder"], os.getcwd()), record["folder"]
assert [step["stage"] for step in record["steps"]] == ["read", "mnf", "write"]
values = record["steps"][1]["result"]["eigenvalues"]
assert len(values) == 59 and values == sorted(values, reverse=True) and values[0] > 10
choice = record["steps"][1]["result"]["noise_choice"]
assert choice["taken"] == record["steps"][1]["result"]["noise"] == "regression" and choice["fits"], choice
assert choice["differences_over_regression"] > 2 and "texture" in choice["why"], choice
assert record["pixels"]["all"] == 10000 and record["pixels"]["masked_nodata"] == 936
assert record["device"]["backend"] == "cpu" and record["seconds"]["all"] > 0
PYTHON
fi
# A part of the scene: --window is that of read for every stage.
run 0 mnf "$scene" part.img --window 10,20,30,40 --components 3
[[ $(stat -c %s part.img) == 14400 ]]
grep -q "331500, *5562900" part.hdr || fail "part.hdr does not lie at the window"
# What a stage has found goes to standard output, also with --quiet, and only that.
run 0 dimension "$scene" --quiet
[[ $(head -1 <<<"$out") == "HySime "* && $(tail -1 <<<"$out") == "recommended "*HySime && -z $err ]] || fail "$out $err"
[[ $(wc -l <<<"$out") == 11 && ! -e dimension.json ]] || fail "$out"
run 0 run read "$scene" ! dimension dimension.json --false-alarm 1e-2 ! pca --components auto ! write found.img
[[ $(wc -l <<<"$out") == 7 ]] || fail "$out"
kept=$(sed -n 's/.*"recommended":[[:space:]]*\([0-9]*\).*/\1/p' dimension.json)
grep -q "^bands *= *$kept\$" found.hdr || fail "$kept components were recommended"
run 0 cov "$scene" part.json --window 20,20,40,40
run 0 run read "$scene" ! cov same.json --noise-window 20,20,40,40
cmp part.json same.json
run 0 svd "$scene" patches.img --side 4
[[ $(stat -c %s patches.img) == 2360000 ]]
refuse 2 "leaves the scene ... 100 samples x 100 lines" mnf "$scene" no.img --window 90,0,20,20
run 0 plan read "$scene" --window 10,20,30,40 ! mnf ! write no.img
[[ $out == *"40 lines x 30 samples x 59 bands"* ]]
# Several masks: plan lists them, a run counts them.
masks=(--mask "$SAMPLE/class.img:1=2" --mask-inside "$SAMPLE/training.gpkg:training")
run 0 plan read "$scene" "${masks[@]}" ! write no.img
[[ $out == *"mask     --mask-inside $SAMPLE/training.gpkg:training"* ]]
run 0 read "$scene" masked.img "${masks[@]}"
[[ $err == *"masked by --mask $SAMPLE/class.img:1=2: "[1-9]*" pixels"* ]]
run 0 mnf "$scene" silent.img --record none --quiet
[[ -z $out && -z $err && ! -e silent.img.hcube.json ]]
run 0 mnf "$scene" one.img --record here.json
[[ -s here.json && ! -e one.img.hcube.json ]]
# The same bytes for every number of threads.
for threads in 1 2 3; do
    run 0 mnf "$scene" threads.img --threads "$threads" --overwrite
    cmp silent.img threads.img
done
run 0 mnf "$scene" progress.img --progress json
[[ $err == *'"event":"progress"'* ]]
# The pages print the factor of the median that is used: the covariance of the noise image over that of the noise.
run 0 run read "$scene" ! bands 7 ! cov median.json --noise median3x3 --device cpu
run 0 run read "$scene" ! bands 7 ! filter median3x3 --noise ! cov image.json --device cpu
first() {
    sed -n 's/.*"covariance":[^[]*\[\([^],]*\).*/\1/p' "$1"
}
factor=$(awk -v image="$(first image.json)" -v noise="$(first median.json)" 'BEGIN { printf "%.9f", image / noise }')
for page in numerics.md stages/cov.md stages/mnf.md; do
    grep -qF "$factor" "$SAMPLE/../docs/$page" || fail "$page does not say that the factor of the median is $factor"
done
# A border of zeros that nothing declares as nodata: its size, and the option that the note names.
sed '/data ignore value/d' "$scene" >bare.hdr
cp "$SAMPLE/scene.img" bare.img
run 0 mnf bare.hdr border.img --components 1 --noise mean3x3 --device cpu
[[ $err == *"note: read: 936 of 10000 pixels are 0"*"59 bands"*"border"*"(--source-nodata 0 --nodata-rule all"* ]] || fail "no note of the border: $err"
grep -q '"zero_border_pixels":.*936' border.img.hcube.json || fail "the border is not in the record"
grep -q 'eigenvalue 27' border.hdr || fail "another eigenvalue: $(<border.hdr)"
run 0 mnf bare.hdr bare_masked.img --components 1 --noise mean3x3 --source-nodata 0 --nodata-rule all --device cpu
[[ $err != *border* ]] || fail "a border that is masked: $err"
grep -q 'eigenvalue 37' bare_masked.hdr || fail "another eigenvalue: $(<bare_masked.hdr)"
