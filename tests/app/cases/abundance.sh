# Abundances by least absolute deviations, with proofs; values that are missing in single bands.
endmembers=$SAMPLE/endmembers.sli
run 0 run read "$scene" ! abundance --endmembers "$endmembers" --residual --verify ! write abundances.tif --device cpu
[[ $err == *"multiplied by 10000"*"they are (--scale none leaves them)"* ]] || fail "unit: $err"
[[ $err == *"abundance: sums are one; largest mean abundances: "* ]] || fail "summary: $err"
[[ $err == *"all 9064 pixels"*"proved"*"largest error"*"(sample "*", line "* ]] || fail "proof: $err"
run 0 info abundances.tif --bands
[[ $out == *"     7 "*"residual"*"dual objective"*"    10 "*"error"* ]] || fail "names: $out"
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON'
import json

result = json.load(open("abundances.tif.hcube.json"))["steps"][1]["result"]
assert result["bands"] == 10 and result["library"]["used_spectra"] == 6, result
assert abs(result["library_factor"] - 10000) < 1e-6, result
assert result["pixels"] == 9064 and result["unfinished_pixels"] == 0 and result["pivots"] > 9064, result
assert 0 <= result["largest_error"] <= 1e-9, result
assert abs(sum(s["mean_abundance"] for s in result["spectra"]) - 1) < 1e-5, result
proof = result["proof"]
assert proof["pixels"] == 9064 and proof["not_proved_pixels"] == 0 and proof["not_proved"] == [], proof
assert abs(proof["worst"]["error"] - result["largest_error"]) <= 1e-6 * result["largest_error"], proof
PYTHON
fi
# The same bytes for every number of threads and size of blocks; a picture of three materials.
for threads in 1 2 3; do
    run 0 run read "$scene" ! abundance --endmembers "$endmembers" --pivots --status \
        ! preview "some$threads.png" --bands 1,2,3 --percentiles 0,100 ! write "some$threads.img" \
        --device cpu --threads "$threads" --memory 150M
    cmp some1.img "some$threads.img"
    cmp some1.png "some$threads.png"
done
[[ $(stat -c %s some1.img) == 320000 ]] || fail "some: not 8 bands"
# As a command; least squares; weights from noise; plans read no pixel.
run 0 run read "$scene" ! cov noise.json --noise shift
run 0 abundance "$scene" weighted.tif --endmembers "$SAMPLE/endmembers.csv" --sum at-most-one --weights noise.json
run 0 abundance "$scene" squares.tif --endmembers "$endmembers" --norm l2 --verify
[[ $err == *"abundance: all 9064 pixels are proved"* ]] || fail "least squares: $err"
run 0 plan read "$scene" ! abundance --endmembers "$endmembers" ! write plan.img
[[ $out == *"2. abundance"*"100 lines x 100 samples x 6 bands"* ]] || fail "plan: $out"
# 77 pixels have 1000 in some band. As nodata it costs them that band, and the whole pixel where a stage needs all.
run 0 abundance "$scene" some.img --endmembers "$endmembers" --source-nodata 1000 --overwrite
[[ $err != *masked:* || $err == *"masked: 0 of 10000 pixels"* ]] || fail "missing: $err"
run 0 run read "$scene" --source-nodata 1000 ! filter ! abundance --endmembers "$endmembers" ! write fewer.img
[[ $err == *"masked: 77 of 10000 pixels"* ]] || fail "missing: $err"
[[ $err == *"without a value"*"left out"*"filter"* ]] || fail "missing: $err"
run 0 abundance --help
[[ $out == *"--sum free|one|at-most-one"* ]] || fail "help: $out"
mkdir refused
cd refused
refuse 2 "--endmembers" abundance "$scene" bad.img
refuse 3 "nowhere.sli: there is no such file" abundance "$scene" bad.img --endmembers nowhere.sli
refuse 2 "--sum two" abundance "$scene" bad.img --endmembers "$endmembers" --sum two
refuse 2 "abundance: the scene is a class map" abundance "$SAMPLE/class.hdr" bad.img --endmembers "$endmembers"
refuse 2 "components come in" run read "$scene" ! pca ! abundance --endmembers "$endmembers" ! write bad.img
{
    printf 'band'
    printf ',m%d' {1..65}
    for band in {1..59}; do
        printf '\n%d' "$band"
        printf ',0.%d' {1..65}
    done
} >many.csv
refuse 6 "many.csv ... 65 endmembers ... at most 64" \
    abundance "$scene" bad.img --endmembers many.csv
only many.csv
# Sums of one, and endmembers in another unit than the scene: the note names the cure.
[[ $PWD != */refused ]] || cd ..
fit() {
    run 0 run read "$scene" ! abundance --endmembers "$SAMPLE/endmembers.csv" "$@" ! write fit.img --device cpu --overwrite
}
for norm in l1 l2; do
    for sum in one at-most-one free; do
        fit --norm "$norm" --sum "$sum"
        [[ $err != *"sums of one"* && $err != *"sum to"* ]] || fail "a good fit, $norm, $sum: $err"
        fit --norm "$norm" --sum "$sum" --scale none
        case $sum in
        one) note="sums of one ... (--scale FACTOR) ... (else --sum at-most-one or free)" ;;
        at-most-one) note="sums of one ... (--scale FACTOR) ... (else --sum free)" ;;
        free) note="different scales (--scale auto or --scale FACTOR" ;;
        esac
        holds "$err" "note: abundance: the ... $note" || fail "$norm, $sum: $err"
    done
done
grep -q '"median_residual_share":.*0\.0' fit.img.hcube.json || fail "the residual is not in the record"

# What a sum of one costs is noted where it is more than 5 % of the residual: of a scene in shade, not of one without.
run 0 abundance "$scene" one.img --endmembers "$SAMPLE/endmembers.csv"
[[ $err == *"abundance: sums are one; largest"* && $err != *"cost the fit"* ]] || fail "no shade: $err"
for step in "abundance shade.img --endmembers" "unmix shade.img --sum-to-one --library"; do
    read -ra words <<<"$step"
    run 0 "${words[0]}" "$scene" "${words[@]:1}" "$SAMPLE/endmembers.csv" --scale 7500 --overwrite
    [[ $err == *"sums of one cost"*"at least "*" % of the values"* ]] || fail "$step: shade: $err"
done
run 0 unmix "$scene" shade.img --library "$SAMPLE/endmembers.csv" --scale 7500 --overwrite
[[ $err == *"unmix: sums are free; largest"* && $err != *"cost the fit"* ]] || fail "free sums: $err"
