# What pixels and spectra are, by a library: methods, rules, chains, tables, refusals.
library=$SAMPLE/library.sli
run 0 run read "$scene" ! identify --library "$library" --picture found.png ! bands 1 ! write classes.tif --device cpu
[[ $err == *"library.sli: 60 spectra on 221 bands are resampled to 59 bands"* ]] || fail "bands: $err"
run 0 info classes.tif
[[ $out == *"uint8"* && $out == *"classes      0 to 60"* && $out == *" Kaolinite"* ]] || fail "classes: $out"
[[ -s found.png ]] || fail "no picture"
# As a command; the bands of the best two and of the constraint.
run 0 identify "$scene" two.img --library "$library" --top 2 --rejected
run 0 info two.img --bands
for name in class fit depth "fit x depth" "class 2" "fit x depth 2" candidate "rejected by"; do
    [[ $out == *"$name"* ]] || fail "$name: $out"
done
# The same bytes for every number of threads and size of blocks.
for threads in 1 3; do
    run 0 identify "$scene" "t$threads.img" --library "$library" --method angle --top 3 --threads "$threads" --memory 150M
done
cmp t1.img t3.img
# Orders: wavelengths stay true before and after; classes follow filters and figures.
run 0 run read "$scene" ! filter mean3x3 ! identify --library "$library" ! bands 1 ! filter majority ! write majority.tif
run 0 run read "$scene" ! bands 20-59 ! identify --library "$library" --report report.html ! write part.img
grep -q "Spectra found, and their references" report.html || fail "no panel"
run 0 run read "$scene" ! mnf --denoise --components 10 ! identify --library "$library" ! preview classes.png
run 0 plan read "$scene" ! identify --library "$library" ! write plan.img
[[ $out == *"2. identify 100 lines x 100 samples x 4 bands"*"passes   1"* ]] || fail "plan: $out"
# Rules, whose limits are reflectances; the values of the scene are 10000 times as large.
rule() {
    printf '{"rf": {"clay": {"reference": {"reflectance_record": "%s"}, "diagnostic_features": [{"feature_weight": 1,
        "continuum_endpoints": [2.0, 2.12, %s, 2.35], "continuum_constraints": {"mean_min": %s}}],
        "weighted_constraints": {"min_weighted_fit": 0.8, "min_weighted_depth": 0.05}}}}' "$1" "$2" "$3" >rules.json
}
rule Kaolinite 2.25 0.1
run 0 identify "$scene" clay.img --library "$library" --rules rules.json
[[ $err == *"multiplied by 10000"* ]] || fail "unit: $err"
run 0 run read clay.img ! bands 1 ! write clay1.img
[[ $(od -An -v -tu1 clay1.img | tr -s ' ' '\n' | sort -u | tr -d '\n') == 01* ]] || fail "no clay, or nothing else"
rule Kaolinite 2.25 0.99
run 0 run read "$scene" ! identify --library "$library" --rules rules.json ! bands 1 ! write none.img
[[ $(od -An -v -tu1 none.img | tr -s ' ' '\n' | sort -u | tr -d '\n') == 0* ]] || fail "limits have no unit"
# Spectra of a library, as a table.
run 0 identify "$SAMPLE/endmembers.sli" --library "$library"
[[ $out == *"spectrum "*"fit    depth  product  match"* ]] || fail "head: $out"
[[ $out == *"Kaolinite soil     1.0000   0.2404   0.2404  Kaolinite soil"$'\n'* ]] || fail "kaolinite: $out"
[[ $(wc -l <<<"$out") == 19 ]] || fail "not three matches each: $out"
run 0 identify --method angle --library "$library" "$SAMPLE/endmembers.csv" --top 1 --quiet
[[ $(wc -l <<<"$out") == 7 && $out == *"Asphalt"*"  Asphalt"* && -z $err ]] || fail "csv: $out $err"
printf 'nm,a,b\n400,0.1,0.2\n500,0.2,0.3\n600,0.3,0.3\n' >short.csv
run 0 identify short.csv --library "$library" --method angle --top 1 --max-angle 0.001
[[ $out == *"a         -"* ]] || fail "nothing: $out"
refuse 2 "identify: --rejected: short.csv is a library" identify short.csv --library "$library" --rejected
refuse 2 "out.tif: one word too many" identify short.csv out.tif --library "$library"
refuse 3 "none of its 60 spectra has features that the bands of the scene cover" identify short.csv --library "$library"
printf 'a,0.1,0.2\nb,0.3,0.4\n' >bare.csv
refuse 3 "bare.csv: line 1 begins with 'a': neither it nor the first column has wavelengths" identify bare.csv --library "$library"
# Refusals, of which nothing is left.
mkdir refused
cd refused
refuse 2 "--library" identify "$scene" bad.img
refuse 3 "nowhere.sli: there is no such file" identify "$scene" bad.img --library nowhere.sli
refuse 3 "nowhere.json" identify "$scene" bad.img --library "$library" --rules nowhere.json
refuse 2 "identify: --method rules: give --rules" identify "$scene" bad.img --library "$library" --method rules
refuse 2 "identify: --max-angle: --method features makes no use of it" identify "$scene" bad.img --library "$library" \
    --max-angle 0.1
refuse 2 "--spectra opal" identify "$scene" bad.img --library "$library" --spectra opal
refuse 2 "identify: the scene is a class map" identify "$SAMPLE/class.hdr" bad.img --library "$library"
refuse 2 "components come in" run read "$scene" ! pca ! identify --library "$library" ! write bad.img
refuse 3 "has features that the bands of the scene cover" run read "$scene" ! bands 30 ! identify --library "$library" \
    ! write bad.img
rule opal 2.25 0.1
refuse 3 "rules.json: rule \"clay\": reflectance_record \"opal\": $library has no such spectrum" identify "$scene" bad.img \
    --library "$library" --rules rules.json
rule Kaolinite 2.05 0.1
refuse 3 "rules.json: rule \"clay\": diagnostic_features[0]: continuum_endpoints: expected four wavelengths that rise" \
    identify "$scene" bad.img --library "$library" --rules rules.json
rule Kaolinite 2.25 '"x"'
refuse 3 "mean_min: expected a number or null" identify "$scene" bad.img --library "$library" --rules rules.json
mkdir empty
refuse 3 "empty: the folder has no .json file of rules" identify "$scene" bad.img --library "$library" --rules empty
rmdir empty
only rules.json
