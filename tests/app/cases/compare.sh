# compare: figures, files and refusals of the command itself (figures: test_compare).
ab=$SAMPLE/abundance.hdr
run 0 abundance "$scene" found.img --format ENVI --endmembers "$SAMPLE/endmembers.csv" --record none --quiet
[[ -s found.img ]] || fail "no abundances"

# A table on standard output, notes on standard error; nothing else is written.
run 0 compare found.hdr "$ab" --match name --bands
[[ $out == *"pixels       9064, and 936 left out"* ]] || fail "pixels: $out"
[[ $out == *"bands        6, matched by name"* && $out == *"Iron-oxide soil"* ]] || fail "bands: $out"
only found.img found.hdr
table=$out

# Files, which hold the same figures; a second time they are refused, and replaced when asked.
run 0 compare found.hdr "$ab" --match name --bands --json f.json --picture d.png -q
[[ $out == "$table" && -z $err ]] || fail "another table with files"
only found.img found.hdr f.json d.png
rmse=$(sed -nE '0,/"rmse"/s/^\t"rmse":\t([0-9.e-]+),$/\1/p' f.json)
[[ $table == *"RMSE         ${rmse:0:8}"* ]] || fail "RMSE $rmse in JSON is not that of the table: $table"
[[ $(head -c 4 d.png | tail -c 3) == PNG ]] || fail "no picture"
refuse 2 "f.json" compare found.hdr "$ab" --match name --json f.json
run 0 compare found.hdr "$ab" --match name --json f.json --picture d.png --overwrite

# Equal rasters are infinitely near, in words and in JSON.
run 0 compare "$scene" "$scene" --json f.json --overwrite
[[ $out == *"RMSE         0"$'\n'* && $out == *"SRE          inf dB"* && $out == *"mean SSIM    1"$'\n'* ]] || fail "equal: $out"
grep -q '"sre_db":	"inf"' f.json || fail "JSON of equal rasters: $(head -20 f.json)"

# Options of reading are for both.
run 0 compare "$scene" "$scene" --window 10,10,20,30 --no-ssim
[[ $out == *"mean SSIM    -"* ]] || fail "SSIM without SSIM: $out"
pixels=$(sed -nE 's/^pixels +([0-9]+), and ([0-9]+) left out$/\1+\2/p' <<<"$out")
[[ $((pixels)) == 600 ]] || fail "window: $out"
run 0 compare "$scene" "$scene" --mask "$SAMPLE/class.hdr"
[[ $out == *"pixels       7"* ]] || fail "mask: $out"

# Class maps by themselves.
run 0 compare "$SAMPLE/class.hdr" "$SAMPLE/class.hdr" --picture d.png --overwrite
[[ $out == *"overall accuracy   1.0000"* && $out == *"kappa              1.0000"* ]] || fail "classes: $out"
run 0 compare "$SAMPLE/class.hdr" "$SAMPLE/class.hdr" --as values
[[ $out == *"RMSE         0"$'\n'* ]] || fail "classes as values: $out"

# Pictures are pages of the engine of figure.
run 0 compare found.hdr "$ab" --match name --picture d.svg
[[ $(<d.svg) == *">root mean square difference of a pixel</text>"* && $(<d.svg) == *"<title>found.img, compared with abundance.img</title>"* ]]
run 0 compare "$SAMPLE/class.hdr" "$SAMPLE/class.hdr" --picture w.svg
[[ $(<w.svg) == *">right</text>"*">100.0 %</text>"*">wrong</text>"* ]] || fail "no legend"

# Scores with a map of targets: by themselves, where the truth is such a map.
run 0 detect "$scene" ace.tif --targets "$SAMPLE/endmembers.csv" --method ace --record none --quiet
run 0 compare ace.tif "$SAMPLE/class.hdr" --picture r.svg --json r.json
[[ $out == *"bands        6, matched by name"*"  area    at 1e-3    at 1e-4"*"5 Water: class 5 Water"* ]] || fail "scores: $out"
[[ $(<r.svg) == *">Water, area 1.0000</text>"*">1e-3</text>"*">false-alarm rate</text>"* ]] || fail "no curves"
[[ $(<r.json) == *'"compared_as":	"scores"'*'"area":	0.99'*'"detection_rate":'* ]] || fail "$(head -c 900 r.json)"
table=$out
run 0 compare ace.tif "$SAMPLE/class.hdr" --memory 83M --threads 1
[[ $out == "$table" ]] || fail "another table with little memory: $out"
run 0 compare ace.tif "$SAMPLE/class.hdr" --as scores --match order --low
[[ $out == *"matched by order"*"An area below 0.5: where low scores are targets"* ]] || fail "$out"
run 0 rx "$scene" rx.img --record none --quiet
run 0 compare rx.img "$SAMPLE/class.hdr" --source-nodata none
[[ $out == *"     7666       1398   "*"1 RX score: all classes"* ]] || fail "rx: $out"
refuse 8 "(--source-nodata none, where 0 is nodata)" compare rx.img "$SAMPLE/class.hdr"
refuse 3 "no band ... name of a class" compare rx.img "$SAMPLE/class.hdr" --match name
refuse 2 "--match best: not for scores" compare rx.img "$SAMPLE/class.hdr" --match best
refuse 3 "is no class" compare rx.img "$ab" --as scores
refuse 5 "the smallest blocks need" compare ace.tif "$SAMPLE/class.hdr" --memory 80M

# Little memory, the same figures; too little, and how much is needed.
run 0 compare "$scene" "$scene" --memory 82M
refuse 5 "the smallest blocks need" compare "$scene" "$scene" --memory 80M

# What is refused, in one line.
refuse 3 "has 6 bands" compare "$scene" "$ab"
refuse 3 "no band has the name" compare "$scene" "$ab" --match name
refuse 2 "TRUTH" compare "$scene"
refuse 2 "unknown option" compare "$scene" "$scene" --brods
refuse 2 "d.jpg ... .png, .svg or .pdf" compare "$scene" "$scene" --picture d.jpg
refuse 3 "missing.hdr" compare "$scene" missing.hdr
cp "$SAMPLE/class.img" c.img && cp "$SAMPLE/class.hdr" c.hdr
refuse 2 "is read" compare c.hdr c.hdr --json c.img --overwrite
cmp c.img "$SAMPLE/class.img"
header small 99 100 6 4 bsq
head -c $((99 * 100 * 6 * 4)) /dev/zero >small.img
refuse 3 "has 100 lines x 100 samples, small.img has 100 x 99" compare small.hdr "$ab"
