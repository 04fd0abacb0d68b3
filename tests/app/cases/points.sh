# Pixels by --pixel and --at, tables of points, and the old names of options. Spectra are checked against gdallocationinfo,
# which is not there on every machine.
bands=(--all-bands --quiet)

# row FILE.csv BAND: the values of a band (from 1).
row() {
    sed -n "$(($2 + 1))p" "$1" | cut -d, -f2-
}

run 0 extract "$scene" pixels.csv --pixel 40,25:10,60 --pixel 3,50 "${bands[@]}" --picture pixels.png --places pixels.gpkg
[[ $(head -1 pixels.csv) == 'wavelength [nm],"sample 40 line 25","sample 10 line 60","sample 3 line 50"' ]] || fail "$(head -1 pixels.csv)"
[[ $(wc -l <pixels.csv) == 65 ]] || fail "$(wc -l <pixels.csv) lines"
[[ $(head -c 4 pixels.png | tail -c 3) == PNG && -s pixels.gpkg ]] || fail "no picture or places"
# The upper left pixel begins at 331200, 5563500; pixels have 30 m.
run 0 extract "$scene" map.csv --at 332415,5562735:331501,5561699 --at 331319.9,5561970.1 "${bands[@]}"
[[ $(head -1 map.csv) == 'wavelength [nm],"x 332415 y 5562735","x 331501 y 5561699","x 331319.9 y 5561970.1"' ]] || fail "$(head -1 map.csv)"
for band in 1 20 64; do
    [[ $(row map.csv $band) == "$(row pixels.csv $band)" ]] || fail "band $band: $(row map.csv $band) at places of the map"
    if command -v gdallocationinfo >/dev/null; then
        [[ $(row pixels.csv $band) == "$(gdallocationinfo -valonly -b $band "$SAMPLE/scene.img" 40 25),"* ]] || fail "band $band"
    fi
done
run 0 extract "$scene" pixels.sli --pixel 40,25:10,60 "${bands[@]}"
run 0 detect "$scene" score.img --targets pixels.sli --quiet
# Pixels count in the window, as all that comes after read.
run 0 extract "$scene" window.csv --window 30,20,20,20 --pixel 10,5 "${bands[@]}"
[[ $(row window.csv 20) == "$(row pixels.csv 20 | cut -d, -f1)" ]] || fail "a pixel of a window"
# Of pixels in sensor geometry --at is a place of the map.
emit=$SAMPLE/EMIT_L2A_RFL_001_20240501T101010_2412207_001.nc
run 0 write "$emit" ortho.tif --ortho --quiet
run 0 extract ortho.tif placed.csv --at 12.64,50.2:12.632,50.191 --quiet
run 0 extract "$emit" sensor.csv --at 12.64,50.2:12.632,50.191 --quiet
cmp placed.csv sensor.csv || fail "places of the map of sensor geometry"
refuse 2 "--at 8,47: lies outside ... 12.62,50.22 to" extract "$emit" no.csv --at 8,47
refuse 2 "two places lie in one pixel" extract "$emit" no.csv --at 12.64,50.2:12.64001,50.20001

refuse 2 "--pixel 100,25 ... 100 samples x 100 lines" extract "$scene" no.csv --pixel 1,1:100,25
refuse 2 "--pixel 4.5,2: not SAMPLE,LINE in whole numbers" extract "$scene" no.csv --pixel 4.5,2
refuse 2 "--pixel : not SAMPLE,LINE" extract "$scene" no.csv --pixel 4,2:
refuse 2 "--pixel 4,2: given twice" extract "$scene" no.csv --pixel 4,2:5,1:4,2
refuse 2 "--at 3,4: lies outside ... 331200,5563500 to 334200,5560500" extract "$scene" no.csv --at 3,4
refuse 2 "--at 1,x: not X,Y" extract "$scene" no.csv --at 1,x
refuse 2 "one of --labels, --pixel, --at and --area" extract "$scene" no.csv
refuse 2 "only one of --labels, --pixel, --at and --area" extract "$scene" no.csv --at 3,4 --pixel 3,4
# The mean of a rectangle is that of its pixels.
run 0 extract "$scene" block.csv --area 40,25,2,2 --quiet
run 0 extract "$scene" corners.csv --pixel 40,25:41,25:40,26:41,26 --quiet
paste -d, block.csv corners.csv | sed 1d | awk -F, '
    { mean = ($4 + $5 + $6 + $7) / 4; if ($2 - mean > 1e-6 * mean || mean - $2 > 1e-6 * mean) { print; wrong = 1 } }
    END { exit wrong || NR != 59 }' || fail "--area: a mean"
[[ $(head -1 block.csv) == *'"samples 40-41 lines 25-26"' ]] || fail "--area: $(head -1 block.csv)"
for area in 1,2,3 0,0,0,1 -1,0,2,2 0,0,1.5,2 95,0,6,1 0,95,1,6 x; do
    refuse 2 "--area $area: not SAMPLE,LINE,SAMPLES,LINES within 100 samples x 100 lines" extract "$scene" no.csv --area "$area"
done
refuse 2 "only one of" extract "$scene" no.csv --area 0,0,1,1 --pixel 3,4
refuse 2 "--field goes with --labels" extract "$scene" no.csv --pixel 3,4 --field name
refuse 8 "none of the 1 pixels is valid" extract "$scene" no.csv --pixel 99,0
run 0 bands "$scene" 1-3 plain.img --quiet
sed -i '/map info/d; /coordinate system/d' plain.hdr
refuse 2 "the scene has no place on Earth" extract plain.img no.csv --at 3,4
[[ ! -e no.csv ]] || fail "a refused command leaves a file"

# Tables of points: by the names of two columns.
printf 'name,x,y\nfield,332415,5562735\n"pit, north",331501,5561699\n' >map_points.csv
printf 'Name;Sample;Line\nfield;40;25\n"pit, north";10.5;60.9\n' >pixel_points.csv
printf 'Lon,Lat,Name\n12.6520848,50.1930615,field\n12.6399522,50.1833706,"pit, north"\n' >lonlat_points.csv
for kind in map pixel lonlat; do
    run 0 extract "$scene" $kind.csv --labels ${kind}_points.csv "${bands[@]}" --overwrite
    [[ $(head -1 $kind.csv) == 'wavelength [nm],"field","pit, north"' ]] || fail "$kind: $(head -1 $kind.csv)"
    [[ $(row $kind.csv 20) == "$(row pixels.csv 20 | cut -d, -f1,2)" ]] || fail "$kind: $(row $kind.csv 20)"
done
run 0 extract "$scene" again.csv --pixel 40,25:10,60 "${bands[@]}" --places points.geojson
run 0 extract "$scene" geojson.csv --labels points.geojson --field name "${bands[@]}"
[[ $(row geojson.csv 20 | tr , '\n' | sort) == "$(row again.csv 20 | tr , '\n' | sort)" ]] || fail "points of GeoJSON"
printf 'lon,lat\n12.64,50.2\n12.632,50.191\n' >sensor_points.csv
run 0 extract "$emit" sensor_table.csv --labels sensor_points.csv --quiet
cmp <(tail -n +2 sensor.csv) <(tail -n +2 sensor_table.csv) || fail "a table of pixels in sensor geometry"
printf 'a,b\n1,2\n' >other.csv
refuse 3 "other.csv: has no layer ... x,y or lon,lat or sample,line" \
    extract "$scene" no.csv --labels other.csv

# Old names: a number is taken with a note, what would be read in another order is refused.
run 0 rx "$scene" old.img --window 21 --guard 5
[[ $err == *"note: rx: --window 21"*"--side"*"version 0.2"* ]] || fail "$err"
run 0 rx "$scene" new.img --side 21 --guard 5
cmp old.img new.img
run 0 rx "$scene" both.img --window=9 --window 10,20,30,40 --quiet
run 0 run read "$scene" --window 10,20,30,40 ! rx --side 9 ! write chain.img --quiet
cmp both.img chain.img
for step in "class.hdr filter majority" "scene.hdr svd" "scene.hdr denoise"; do
    run 0 plan read "$SAMPLE/${step%% *}" ! ${step#* } --window 5 ! write plan.img
    [[ $out == *": --window 5: the option is called --side"* ]] || fail "$step: $out"
done
mkdir in
cp "$SAMPLE"/scene.* in
run 0 batch rx --window 9 --scenes in --output 'out_{stem}.img'
[[ $(grep -c "note: rx: --window 9.*--side" <<<"$err") == 1 ]] || fail "$err"
run 0 batch rx --window 9 --scenes in --output 'out_{stem}.img' --quiet --overwrite
[[ -z $err ]] || fail "$err"
refuse 2 "detect: --target-pixel 25,40 ... --target-at SAMPLE,LINE" detect "$scene" no.img --target-pixel 25,40
refuse 2 "cov: --window 1,2,30,40 ... --noise-window X,Y,W,H" run read "$scene" ! cov no.json --window 1,2,30,40
refuse 2 "svd: --window 1,2,30,40 ... --side SIDE" run read "$scene" ! svd --window 1,2,30,40 ! write no.img
# Pixels of --target-at are samples and lines.
run 0 detect "$scene" target.img --target-at 40,25:10,60 --method sam --quiet
run 0 info target.img --bands
[[ $out == *"sample 40 line 25"*"sample 10 line 60"* ]] || fail "$out"
run 0 extract target.img zero.csv --pixel 40,25 --quiet
[[ $(row zero.csv 1) =~ ^(0|.*e-1[0-9]),?$ ]] || fail "the angle of a target to itself: $(row zero.csv 1)"
