# Rasters that are parts of a scene are no scenes of a batch: bands of Hyperion, references of line scanners.

# scenes COUNT PARTS WORD...: how many scenes a batch finds, and how many files belong to them.
scenes() {
    rm -rf out && mkdir out
    run 0 batch cov --scenes "${@:3}" --output "out/{stem}.json"
    (($(ls out/*.json | grep -cv hcube) == $1)) || fail "batch ${*:3}: $(ls out), and not $1 results"
    if (($2 > 0)); then
        [[ $err == *"note: $2 file"*"left out that belong"* ]] || fail "batch ${*:3} does not name $2 files: $err"
    else
        [[ $err != *"left out that belong"* ]] || fail "batch ${*:3} leaves files out: $err"
    fi
}

# A GeoTIFF for each band, and a text.
mkdir -p archive/EO1H
run 0 run read "$scene" ! bands 10 ! write band.tif
for number in {8..57} {76..224}; do
    cp band.tif "archive/EO1H/EO1H0410_B$(printf %03d "$number")_L1T.TIF"
done
printf 'SCALING_FACTOR_VNIR = 40.0\nSCALING_FACTOR_SWIR = 80.0\nEND\n' >archive/EO1H/EO1H0410_MTL_L1T.TXT
cp archive/EO1H/EO1H0410_B008_L1T.TIF archive/EO1H/other_B008.tif
scenes 2 199 archive/EO1H
[[ -e out/EO1H0410_MTL_L1T.json ]] || fail "the scene is not the text: $(ls out)"
rm archive/EO1H/other_B008.tif
scenes 1 199 archive/EO1H
scenes 1 199 archive --recursive
scenes 1 0 archive/EO1H/EO1H0410_MTL_L1T.TXT

# A text whose bands are not all there is a scene that fails.
rm archive/EO1H/EO1H0410_B100_L1T.TIF
run 9 batch cov --scenes archive/EO1H --output "out/{stem}.json"
[[ $err == *"B100_L1T.TIF"* ]] || fail "the band that is missing is not named: $err"

# Specim: the scene of a folder lies in its folder capture. The two references belong to it.
scenes 1 2 "$SAMPLE/core"
[[ -e out/core.json ]] || fail "the scene of the folder of Specim is another one: $(ls out)"
cp -r "$SAMPLE/core" archive/core
scenes 1 2 archive/core/capture

# Headwall, beside a scene of another day. References alone are scenes.
mkdir headwall
for name in raw darkReference whiteReference later; do
    cp "$SAMPLE/core/capture/core.hdr" headwall/$name.hdr
    cp "$SAMPLE/core/capture/core.raw" headwall/$name.raw
done
scenes 2 2 headwall
rm headwall/raw.* headwall/later.*
scenes 2 0 headwall
