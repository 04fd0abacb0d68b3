refuse 2 "did you mean plan?" paln
refuse 2 "unknown command" qqqqqqqqqq
refuse 2 "did you mean mnf?" mnff "$scene" out.img
refuse 2 "did you mean mnf?" mfn "$scene" out.img # man is as near, but no letters change places
refuse 2 "bands: a list has no blanks (1,3,4)" bands "$scene" out.img --keep 1, 3, 4
refuse 2 "preview: a list has no blanks (30,20,10)" preview --bands 30, 20, 10 "$scene" out.png
refuse 3 "b100<300 ... no such file ... compares no values" read "$scene" out.img --mask 'b100<300'
printf 'x,y,class\n331300,5563400,a\n331400,5563300,b\n' >points.csv
printf 'name,lat,lon\np1,50.1,13.2\np2,50.2,13.1\n' >places.csv
refuse 3 "points.csv: a table ... extract --labels" pca points.csv out.img
refuse 3 "points.csv: a table of points (columns x and y) ... extract --labels" info points.csv
refuse 3 "places.csv: a table of points (columns lon and lat)" unmix "$scene" out.img --library places.csv
printf 'x,y\n400,0.1\n500,0.2\n600,0.1\n' >curve.csv # a spectrum may have such columns
run 0 info curve.csv
mkdir -p folder/in
cp "$scene" "$SAMPLE/scene.img" folder/in
refuse 3 "folder/in: a folder with 1 scene ... (folder/in/scene.hdr) ... hcube batch --scenes folder/in" info folder/in
refuse 3 "--scenes fold* ... folders alone (fold*/*" batch pca --scenes 'fold*' --output 'o/{stem}.img'
run 0 preview "$scene" picture.png --quiet
run 0 bands picture.png out.img --keep 1 --device cpu
[[ $err == *"note: read: a picture (PNG)"*"colours"* ]] || fail "says $err"
run 0 info picture.png
[[ $out == *"a picture (PNG): its values are colours"* ]] || fail "says $out"
rm -rf points.csv places.csv curve.csv folder picture.* out.*
refuse 2 "did you mean mnf?" run read "$scene" ! mfn ! write out.img
refuse 2 "did you mean mnf?" stages mnff
refuse 2 "did you mean --components?" mnf "$scene" out.img --componets 3
refuse 2 "did you mean --components?" run read "$scene" ! mnf --componets 3 ! write out.img
refuse 2 "did you mean --threads?" run --thread 3 read "$scene" ! write out.img
refuse 2 "did you mean --overwrite?" pca "$scene" out.img --overwrit
refuse 2 "here: hcube endmembers SCENE LIBRARY --method ppi" ppi "$scene" out.sli
refuse 2 "--verbose: unknown option ... --progress plain" mnf "$scene" out.img --verbose
refuse 2 "-ot: unknown option; here: --type" mnf "$scene" out.img -ot Int16
refuse 2 "-of: unknown option; here: --format" run read "$scene" ! write out.img -of GTiff
refuse 2 "--force: unknown option; here: --overwrite" cov "$scene" s.json --force
refuse 2 "--verbose: unknown option (see: " info "$scene" --verbose
refuse 2 "no chain given" run
refuse 2 "SCENE is missing" mnf
refuse 2 "OUTPUT is missing" mnf "$scene"
refuse 2 "--device" mnf "$scene" out.img --device tpu
refuse 2 "--components" mnf "$scene" out.img --components 0
refuse 2 "goes nowhere" run read "$scene" ! mnf
refuse 2 "must be one of" mnf "$scene" out.img --type complex64
only
