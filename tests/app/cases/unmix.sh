# Abundances of the spectra of a library, which are brought to the bands and the unit of the scene.
library=$SAMPLE/library.sli
run 0 run read "$scene" ! unmix --library "$library" --lambda 1e-3 ! write abundances.tif --device cpu
[[ $err == *"library.sli: 60 spectra on 221 bands"*"resampled to 59 bands"* ]] || fail "bands: $err"
[[ $err == *"multiplied by 10000"*"they are (--scale none leaves them)"* ]] || fail "unit: $err"
[[ $err == *"sums are free"*"Green vegetation (band 3) 0."* ]] || fail "summary: $err"
run 0 info abundances.tif --bands
[[ $out == *"     3 "*"Green vegetation"* && $out == *"    60 "* ]] || fail "names: $out"
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON'
import json

result = json.load(open("abundances.tif.hcube.json"))["steps"][1]["result"]
assert result["bands"] == 60 and result["library"]["used_spectra"] == 60, result
assert result["lambda"] == 0.001 and abs(result["library_factor"] - 10000) < 1e-6, result
assert result["pixels"] == 9064 and result["unfinished_pixels"] == 0, result
assert 0 <= result["largest_gap"] <= 1e-4, result
spectra = result["spectra"]
assert len(spectra) == 60 and spectra[2]["name"] == "Green vegetation", spectra
assert spectra[2]["mean_abundance"] == max(s["mean_abundance"] for s in spectra) > 0.2, spectra
assert 1000 < spectra[2]["pixels"] <= 9064, spectra
PYTHON
fi
# The same bytes for every number of threads and size of blocks; the strongest ones in a picture.
for threads in 1 2 3; do
    run 0 run read "$scene" ! unmix --library "$library" --top 3 --threshold 0.05 --add rmse,gap,end \
        ! preview "top$threads.png" --bands 4 ! write "top$threads.img" --device cpu --threads "$threads" --memory 150M
    cmp top1.img "top$threads.img"
    cmp top1.png "top$threads.png"
done
[[ $(stat -c %s top1.img) == 360000 ]] || fail "top: not 9 bands"
grep -q 'spectrum 3' top1.hdr || fail "no band for the third spectrum"
# As a command; weights from noise; plans read no pixel.
run 0 run read "$scene" ! cov noise.json --noise shift
run 0 unmix "$scene" shares.tif --library "$SAMPLE/endmembers.csv" --sum-to-one --weights noise.json
# Lambda by the noise of detector columns, and by a raster; the same on any number of threads.
run 0 noise "$scene" columns.json --columns 1
for threads in 1 3; do
    run 0 unmix "$scene" "columns$threads.img" --library "$library" --noise-map columns.json --threads "$threads" --memory 150M
    [[ $err == *"unmix: columns.json: lambda"*"noise of the pixels, from "* ]] || fail "map: $err"
done
cmp columns1.img columns3.img
run 0 run read "$scene" ! bands 20 ! write sigma.img
run 0 unmix "$scene" sigma.tif --library "$library" --lambda auto --noise-map sigma.img
run 0 plan read "$scene" --window 5,5,20,20 ! unmix --library "$library" --noise-map sigma.img ! write plan.img
refuse 2 "unmix: --sum-to-one excludes --noise-map" unmix "$scene" bad.img --library "$library" \
    --sum-to-one --noise-map sigma.img
refuse 3 "nowhere/sigma.hdr: No such file or directory" unmix "$scene" bad.img --library "$library" --noise-map nowhere/sigma.hdr
run 0 run read sigma.img --window 5,5,20,20 ! write small.img
refuse 3 "small.img: has 20 lines x 20 samples, $SAMPLE/scene.img" unmix "$scene" bad.img --library "$library" --noise-map small.img
refuse 3 "noise.json: no noise of columns ... --columns" unmix "$scene" bad.img --library "$library" --noise-map noise.json
refuse 3 "has 64 bands ... one band is needed" unmix "$scene" bad.img --library "$library" --noise-map "$scene"
run 0 plan read "$scene" ! unmix --library "$library" ! write plan.img
[[ $out == *"2. unmix    100 lines x 100 samples x 60 bands"*"passes   1"* ]] || fail "plan: $out"
run 0 unmix --help
[[ $out == *"--scale FACTOR|auto|none"* ]] || fail "help: $out"
mkdir refused
cd refused
refuse 2 "--library" unmix "$scene" bad.img
refuse 3 "nowhere.sli: there is no such file" unmix "$scene" bad.img --library nowhere.sli
refuse 3 "class.hdr: not a spectral library" unmix "$scene" bad.img --library "$SAMPLE/class.hdr"
printf 'nm,a,b\n400,0.1,0.2\n500,0.2,0.3\n600,0.3,0.3\n' >short.csv
refuse 3 "short.csv: none of its spectra" unmix "$scene" bad.img --library short.csv
refuse 2 "--lambda -1 ... 0 and 1e30" unmix "$scene" bad.img --library "$library" --lambda -1
refuse 2 "--lambda nan: not a number" unmix "$scene" bad.img --library "$library" --lambda nan
refuse 2 "--top 0" unmix "$scene" bad.img --library "$library" --top 0
refuse 2 "--top 61: $library has 60 spectra" unmix "$scene" bad.img --library "$library" --top 61
refuse 2 "unmix: the scene is a class map" unmix "$SAMPLE/class.hdr" bad.img --library "$library"
refuse 2 "components come in" run read "$scene" ! pca ! unmix --library "$library" ! write bad.img
only short.csv
cd ..
# Sums of one, and a library in another unit than the scene: the note names the cure, and the figure is in the record.
fit() {
    run 0 run read "$scene" ! unmix --library "$SAMPLE/endmembers.csv" "${@:2}" ! write "$1" --device cpu --overwrite
}
fit good.img --sum-to-one
[[ $err != *"sums of one"* && $err != *"sum to"* ]] || fail "a good fit: $err"
fit sums.img --sum-to-one --scale 4000
[[ $err == *"unmix: the mixtures miss half"*"by "*" % of their values or more, which are "*"times their mixtures"*"(--scale FACTOR)"*"(else leave out --sum-to-one)"* ]] ||
    fail "sums of one: $err"
fit free.img --scale none
[[ $err == *"unmix: the abundances"*"sum to "*"different scales (--scale auto or --scale FACTOR"* ]] ||
    fail "another scale: $err"
fit top.img --scale none --top 2
[[ $err == *"look to be on different scales"* ]] || fail "another scale, --top: $err"
share=$(grep -o '"median_residual_share":[^,]*' sums.img.hcube.json)
[[ $share == *0.* ]] || fail "the residual is not in the record"
for threads in 1 2; do
    fit again.img --sum-to-one --scale 4000 --threads "$threads" --memory 140M
    grep -qF "$share" again.img.hcube.json || fail "another residual with $threads threads"
done
