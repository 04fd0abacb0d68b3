command -v gdalinfo >/dev/null || { echo "skipped: gdalinfo is not installed" && exit 77; }
run 0 mnf "$scene" out.img --components 4
run 0 mnf "$scene" out.tif --components 4
run 0 mnf "$scene" out.cog.tif --format COG --components 4
run 0 mnf "$scene" small.tif --components 4 --compress deflate
for file in out.img out.tif out.cog.tif small.tif; do
    text=$(gdalinfo -checksum "$file")
    [[ $text == *"Size is 100, 100"* ]] || fail "$file: size"
    [[ $text == *"UTM zone 33N"* || $text == *UTM_Zone_33N* ]] || fail "$file: place"
    [[ $text == *"Origin = (331200.0"*"5563500.0"* ]] || fail "$file: origin"
    [[ $text == *"MNF 1 (eigenvalue "* ]] || fail "$file: band names"
    [[ $text == *"NoData Value=nan"* ]] || fail "$file: nodata"
    [[ $(grep -c '^Band ' <<<"$text") == 4 ]] || fail "$file: bands"
    sums=$(grep -o 'Checksum=.*' <<<"$text")
    [[ -z ${first:-} || $sums == "$first" ]] || fail "$file: checksums differ: $sums, $first"
    first=$sums
done
run 0 bands "$scene" spectral.img --wavelength 400-700
text=$(gdalinfo spectral.img)
[[ $text == *"NoData Value=0"* ]] || fail "nodata of a spectral output: $text"
grep -qi 'wavelength' spectral.hdr
# Bands of spectra are described by name and wavelength; reading takes that apart again.
bands() { python3 -c 'import json, sys; i = json.load(sys.stdin); print(i["wavelength_nm"], i["fwhm_nm"], i.get("band_names"))'; }
for format in GTiff COG; do
    run 0 bands "$scene" spectral.tif --wavelength 400-700 --format "$format" --overwrite
    [[ $(gdalinfo spectral.tif) == *"Description = band 2 ("*" nm)"* ]] || fail "$format: names of bands"
    run 0 info spectral.img --json
    expected=$(bands <<<"$out")
    run 0 info spectral.tif --json
    [[ $(bands <<<"$out") == "$expected" && $expected == *433.33*None ]] || fail "$format: bands of info: $out"
    run 0 write spectral.tif again.tif --overwrite
    [[ $(gdalinfo again.tif | grep Description) == "$(gdalinfo spectral.tif | grep Description)" ]] ||
        fail "$format: names of bands, written again"
done
for file in class.img class.tif class.cog.tif; do
    format=()
    [[ $file == *.cog.tif ]] && format=(--format COG)
    run 0 write "${scene%/*}/class.img" "$file" "${format[@]}"
    text=$(gdalinfo "$file")
    [[ $text == *"Type=Byte, ColorInterp=Palette"* ]] || fail "$file: type and palette of classes: $text"
    [[ $text == *"1: Green vegetation"*"5: Water"* ]] || fail "$file: names of classes: $text"
    [[ $text == *"1: 46,139,66,255"* ]] || fail "$file: colours of classes: $text"
    [[ $text == *"NoData Value=0"* ]] || fail "$file: nodata of classes: $text"
    run 0 info "$file"
    [[ $out == *"5 #2c68be Water"* ]] || fail "$file: classes of info: $out"
    run 0 info "$file" --json
    [[ $out == *'"Water"'*'[44, 104, 190]'* ]] || fail "$file: classes of info: $out"
done
