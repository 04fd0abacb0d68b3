# Accuracy by the right class: the example of README, names and numbers of classes, clusters, and what is no class.
train=(--training "$SAMPLE/training.gpkg" --layer training)
truth=$SAMPLE/class.hdr

# The example of README: classes have other numbers than in the truth, and the same names.
run 0 run read "$scene" ! mnf --components 10 --noise mean3x3 ! knn "${train[@]}" --field class_name -k 3 --split 0.5 --report accuracy.txt \
    ! write classes.tif
run 0 compare classes.tif "$truth" --picture wrong.png --json figures.json
[[ $out == *"overall accuracy   1.0000"* && $out == *"kappa              1.0000"* ]] || fail "README: $out"
[[ $out == *"classes      6, matched by name"* ]] || fail "not by name: $out"
[[ $out == *$'\n1  Green vegetation           3        3416        3416'* ]] || fail "numbers of both: $out"
grep -q '"predicted_number":	3' figures.json || fail "numbers in JSON: $(cat figures.json)"

# The attribute that holds the numbers of the truth: no name is needed.
run 0 knn "$scene" numbered.tif "${train[@]}" --field class_name --field-number class_id -k 3 --split 0.5 --report numbered.txt
run 0 compare numbered.tif "$truth" --match order
[[ $out == *"matched by number"* && $out == *"overall accuracy   0.9"* && $out != *" number "* ]] || fail "numbers: $out"

# By number where the user says so; --match is never ignored.
run 0 compare classes.tif "$truth" --match order
[[ $out == *"matched by number"* && $out != *"overall accuracy   1.0000"* ]] || fail "by number: $out"

# Clusters have names of their own: the pairs that agree most.
run 0 kmeans "$scene" clusters.tif --clusters 8
refuse 3 "no class ... name ... $SAMPLE/class.img (--match best" compare clusters.tif "$truth"
run 0 compare clusters.tif "$truth" --match best
[[ $out == *"classes      8, matched by best (without partner: 2 of the scene, 0 of the truth)"* ]] || fail "best: $out"
share=$(sed -nE 's/^overall accuracy +//p' <<<"$out")
[[ $share > 0.5 ]] || fail "best pairs: $out"

# A training raster keeps its numbers, and so does an attribute that holds them.
run 0 knn "$scene" same.tif -k 3 --training "$truth" --split 0.5 --report same.txt
run 0 compare same.tif "$truth" --match order
[[ $out == *"overall accuracy   0.99"* || $out == *"overall accuracy   1.0000"* ]] || fail "numbers of a raster: $out"
numbers=(GreenX:41 "Green vegetation:3" "Dry vegetation:40" "Kaolinite soil:7" "Iron-oxide soil:300" "Water:0" "Asphalt:9")
if command -v ogr2ogr >/dev/null; then
    sql="SELECT *, CASE class_name"
    for pair in "${numbers[@]}"; do
        sql+=" WHEN '${pair%:*}' THEN ${pair#*:}"
    done
    ogr2ogr -dialect SQLite -sql "$sql END AS code, CASE class_name WHEN 'Water' THEN ' Background' ELSE class_name END AS label FROM training" \
        coded.gpkg "$SAMPLE/training.gpkg" -nln coded
    coded=(--training coded.gpkg --validation coded.gpkg)
    run 0 knn "$scene" coded.tif -k 3 "${coded[@]:0:2}" --field class_name --field-number code --split 0.5 --report coded.txt
    grep -qE '^300  Iron-oxide soil ' coded.txt && grep -qE '^  3  Green vegetation ' coded.txt || fail "numbers: $(cat coded.txt)"
    ! grep -q Water coded.txt || fail "0 is a class: $(cat coded.txt)"
    run 0 compare coded.tif "$truth"
    [[ $out == *"without partner: 0 of the scene, 1 of the truth"* && $out == *"Water "*" -  "* ]] || fail "coded: $out"
    run 0 knn "$scene" code.tif -k 3 --training coded.gpkg --field code
    run 0 compare code.tif coded.tif
    [[ $out == *"overall accuracy   0.99"* && $out == *$'\n300  Iron-oxide soil '* && $err == *"code.tif"*"no names"*"by their numbers"* ]] ||
        fail "a field of numbers: $out $err"
    run 0 classify "$scene" label.tif --method distance --training coded.gpkg --field label --split 0.5 --report label.txt
    ! grep -qi background label.txt || fail "background is a class: $(cat label.txt)"
    refuse 2 "has no field 'cod'" knn "$scene" bad.tif --training coded.gpkg --field label --field-number cod
    refuse 2 "has no numbers in 'label'" knn "$scene" bad.tif --training coded.gpkg --field class_name --field-number label
fi
refuse 2 "is a raster" knn "$scene" bad.tif --training "$truth" --field-number code
