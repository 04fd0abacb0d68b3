# Spectral libraries: what info shows of them, and how they come to the bands of a scene.
cat >plants.csv <<'END'
wavelength_um,Oak,Elm,Ash
0.40,0.1,0.2,0.3
0.45,0.1,,0.3
0.42,0.2,0.3,-0.1
END
run 0 info plants.csv
[[ $out == *"plants.csv (spectral library)"* ]] || fail "info: file: $out"
[[ $out == *"3 spectra x 3 bands"* ]] || fail "info: size: $out"
[[ $out == *"400.00 to 450.00 nm, not in rising order"* ]] || fail "info: wavelengths: $out"
[[ $out == *"1 of 9 values, in 1 of 3 spectra"* ]] || fail "info: missing: $out"
[[ $out == *"-0.1 to 0.3, 99 % up to 0.3"* ]] || fail "info: values: $out"
[[ $out == *"           3 Ash"* ]] || fail "info: names: $out"
run 0 info --bands plants.csv
[[ $out == *"     2     450.00        -             1"* ]] || fail "info --bands: $out"
run 0 info --json plants.csv
[[ $out == *'[400, 450, 420]'*'"missing_values":'*1* && $out == *'"Oak", "Elm", "Ash"'* ]] || fail "info --json: $out"
# Many names are cut short, unless all are asked for.
{ printf 'nm' && printf ',Plant %d' {1..40} && printf '\n400' && printf ',%d' {1..40} && echo; } >many.csv
run 0 info many.csv
[[ $out == *"          32 Plant 32"*"8 more (--bands lists all)"* && $out != *"Plant 33"* ]] || fail "names: $out"
run 0 info many.csv --bands
[[ $out == *"          40 Plant 40"* ]] || fail "all names: $out"

# An ENVI library: bad bands, widths, the scale of the header.
printf '\0\0\0\0\0\0\200\77\0\0\0\100' >four.sli
cat >four.hdr <<'END'
ENVI
samples = 3
lines = 1
bands = 1
file type = ENVI Spectral Library
data type = 4
wavelength = {400, 410, 420}
fwhm = {9, 9.5, 9}
bbl = {1, 1, 0}
reflectance scale factor = 100
END
for file in four.hdr four.sli; do
    run 0 info $file
    [[ $out == *"9.00 to 9.50 nm"*"1 of 3"*"1 of 3 values, in 1 of 1"*"0 to 1,"*"100 is reflectance 1"* ]] || fail "$file: $out"
done
run 0 info --json four.hdr
[[ $out == *'"bad_bands_from_1":'*3*'"reflectance_scale_factor":'*100* ]] || fail "info --json: $out"
refuse 3 "nothing.sli: there is no such file" info nothing.sli
refuse 3 "ragged.csv: there is no such file" info ragged.csv

# A library on other bands is resampled for knn, and what it does not cover is refused.
{ echo "nm,Bright,Dark" && for ((nm = 300; nm <= 2600; nm += 4)); do echo "$nm,0.5,0.05"; done; } >fine.csv
run 0 run read "$scene" ! knn --training fine.csv -k 1 ! write map.img --device cpu
[[ $err == *"fine.csv: 2 spectra on 576 bands are resampled to "*" bands"* ]] || fail "no note of it: $err"
[[ $err == *"are to be multiplied by 10000 to be in the unit of the scene"* ]] || fail "no note of the unit: $err"
grep -q '"used_spectra"' map.img.hcube.json || fail "the library is not in the record"
refuse 3 "none of its spectra has values at" run read "$scene" ! knn --training plants.csv -k 1 ! write bad.img
[[ ! -e bad.img ]] || fail "bad.img is there"
