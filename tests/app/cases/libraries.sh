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
[[ $out == *"400.00 to 450.00 nm"*"rising order"* ]] || fail "info: wavelengths: $out"
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
run 0 info --bands four.hdr
[[ $out == *"widths       9.00 to 9.50 nm"$'\n'* && $out == *"bad bands    1 of 3"$'\n'* ]] || fail "info: $out"
[[ $out == *"     2     410.00     9.50             0"$'\n'"     3     420.00     9.00  bad        1" ]] || fail "info --bands: $out"
run 0 info --json four.hdr
[[ $out == *'"bad_bands_from_1":'*3*'"reflectance_scale_factor":'*100* ]] || fail "info --json: $out"
refuse 3 "nothing.sli: there is no such file" info nothing.sli
refuse 3 "ragged.csv: there is no such file" info ragged.csv

# A library on other bands is resampled for knn, and what it does not cover is refused.
{ echo "nm,Bright,Dark" && for ((nm = 300; nm <= 2600; nm += 4)); do echo "$nm,0.5,0.05"; done; } >fine.csv
run 0 run read "$scene" ! knn --training fine.csv -k 1 ! write map.img --device cpu
[[ $err == *"fine.csv: 2 spectra on 576 bands"*"resampled to "*" bands"* ]] || fail "no note of it: $err"
[[ $err == *"multiplied by 10000"*"unit of the scene"* ]] || fail "no note of the unit: $err"
grep -q '"used_spectra"' map.img.hcube.json || fail "the library is not in the record"
refuse 3 "none of its spectra has values at" run read "$scene" ! knn --training plants.csv -k 1 ! write bad.img
[[ ! -e bad.img ]] || fail "bad.img is there"

# What is no spectrum: entries by their names, values far outside of the others (the library of the USGS, version 7).
{
    echo "nm,Wavelengths,Green,errorbars to preceding Green,Brown,errorbars to preceding Brown,Resolution"
    for ((nm = 350; nm <= 2550; nm += 5)); do
        leak=0.0$((nm % 7 + 1))
        [[ $nm != 1400 ]] || leak=-8e29
        echo "$nm,$((nm * 2)),0.$((nm % 4 + 2)),$leak,0.$((nm % 3 + 1)),0.01,10"
    done
} >splib.csv
sed 's/Wavelengths/Acmite/; s/errorbars to preceding/Alunite/g; s/Resolution/Albite/' splib.csv >spectra.csv
cut -d, -f1,3,5 splib.csv >two.csv
run 0 info splib.csv
[[ $out == *"by name: 4 of 6"*"(2 error bars, 1 wavelengths, 1 widths of bands)"*"--all-spectra"* ]] || fail "left out: $out"
[[ $out == *"values       0.1 to 0.5, 99 % up to 0.5"* ]] || fail "values: $out"
[[ $out == *"           3 errorbars to preceding Green (left out: error bars)"*"           4 Brown"$'\n'* ]] || fail "names: $out"
[[ $out == *"missing      0 of 882 values, in 0 of 2 spectra"* ]] || fail "missing: $out"
run 0 info --json splib.csv
[[ $out == *'"left_out"'*'"spectrum_from_1":'*3*'"error bars"'*'"outlying_values"'* ]] || fail "info --json: $out"
run 0 info spectra.csv
[[ $out == *"1 value in 1 entry"*"(-8e+29)"*"missing"* ]] || fail "outlier: $out"
for stage in "unmix --lambda 0 --library" "abundance --sum free --endmembers" "knn -k 1 --training"; do
    read -ra words <<<"$stage"
    name=${words[0]}
    run 0 run read "$scene" ! "${words[@]}" two.csv ! write "$name.two.img" --device cpu
    [[ $err != *"left out by name"* ]] || fail "$name: left out of two.csv: $err"
    run 0 run read "$scene" ! "${words[@]}" splib.csv ! write "$name.all.img" --device cpu
    [[ $(grep -c "left out by name" <<<"$err") == 1 ]] || fail "$name: not one note: $err"
    [[ $err == *"$name: splib.csv"*"by name: 4 of 6"*"(2 error bars, 1 wavelengths, 1 widths of bands) (--all-spectra"* ]] || fail "$name: $err"
    cmp "$name.two.img" "$name.all.img" # nothing goes to error bars
    grep -q '"left_out_by_name":.*4' "$name.all.img.hcube.json" || fail "$name: not in the record"
    # Some of them, by numbers and by patterns.
    run 0 run read "$scene" ! "${words[@]}" splib.csv --spectra '2,*BROWN' ! write "$name.some.img" --device cpu
    [[ $err == *"by name: 1 of 3 entries (1 error bars)"* ]] || fail "$name --spectra: $err"
    cmp "$name.two.img" "$name.some.img"
    run 0 run read "$scene" ! "${words[@]}" splib.csv --spectra 2-4 ! write "$name.three.img" --device cpu
    [[ $err == *"by name: 1 of 3 entries (1 error bars)"* ]] || fail "$name --spectra 2-4: $err"
    cmp "$name.two.img" "$name.three.img"
    run 0 run read "$scene" ! "${words[@]}" splib.csv --spectra 4-5 --all-spectra ! write "$name.kept.img" --device cpu
    [[ $err != *"by name"* ]] || fail "$name --all-spectra: $err"
    grep -q '"used_spectra":.*2' "$name.kept.img.hcube.json" || fail "$name --all-spectra: not both are used"
    refuse 2 "$name: --spectra Gren ... splib.csv ... Green?" run read "$scene" ! "${words[@]}" splib.csv --spectra Gren ! write bad.img
    refuse 2 "$name: --spectra 7: splib.csv ... 1 to 6" run read "$scene" ! "${words[@]}" splib.csv --spectra 7 ! write bad.img
done
grep -q 'Green' unmix.some.hdr || fail "unmix.some: no band named Green"
refuse 2 "knn: --spectra: $SAMPLE/class.hdr is no spectral library" run read "$scene" ! knn --training "$SAMPLE/class.hdr" --spectra 1 ! write bad.img
[[ ! -e bad.img ]] || fail "bad.img is there"

# One numbering: that of the file, from 1, in info, --spectra, notes, records and the bands of --top.
run 0 info "$SAMPLE/library.sli" --bands
entry=$(sed -n 's/^ *\([0-9]*\) Green vegetation$/\1/p' <<<"$out")
for spectra in "Green vegetation,*soil*,*water*" "$entry,*soil*,*water*"; do
    run 0 unmix "$SAMPLE/scene.hdr" top.img --library "$SAMPLE/library.sli" --spectra "$spectra" --top 1 --overwrite \
        --record top.json
    [[ $err == *"Green vegetation (number $entry) "* ]] || fail "--spectra $spectra: $err"
    grep -A1 '"Green vegetation"' top.json | grep -c "\"library_spectrum_from_1\":[[:space:]]*$entry,$" >/dev/null ||
        fail "the record: $(cat top.json)"
    run 0 info top.img
    [[ $out == *"0 none"*"           $entry Green vegetation"* && $out != *" -"$'\n'* ]] || fail "names of --top: $out"
done
run 0 unmix "$SAMPLE/scene.hdr" few.img --library "$SAMPLE/library.sli" --spectra "$entry,*soil*,*water*"
[[ $err == *"Green vegetation (number $entry, band "* ]] || fail "a note: $err"
run 0 info "$SAMPLE/library.sli" --spectra "*soil*,$entry"
[[ $out == *" of 60"*"           $entry Green vegetation"* && $out != *"Water"* ]] || fail "info --spectra: $out"
# A name that fits no entry.
run 0 info "$SAMPLE/library.sli" --json
holding=$(grep -io 'vegetation' <<<"${out##*names}" | wc -l)
refuse 2 "exactly this name, $holding names ... (--spectra '*vegetation*')" \
    info "$SAMPLE/library.sli" --spectra vegetation
refuse 2 "info: --spectra: $SAMPLE/scene.hdr is no spectral library" info "$SAMPLE/scene.hdr" --spectra 1
# --look draws a choice of a large library, with the numbers of the file.
run 0 info "$SAMPLE/library.sli" --look look.svg
[[ $(cat look.svg) == *"60 spectra, "*"24 of them"*"(--spectra chooses"* ]] ||
    fail "the caption: $(tail -c 900 look.svg)"
run 0 info "$SAMPLE/library.sli" --look some.svg --spectra "$entry,1"
[[ $(cat some.svg) == *">$entry Green vegetation<"*"2 spectra, "* && $(cat some.svg) != *"evenly taken"* ]] || fail "a chosen look"

# A unit of wavelengths that is no length is named, wherever wavelengths are missed.
sed 's/^wavelength units.*/wavelength units = cm-1/I' "$scene" >wavenumbers.hdr
cp "$SAMPLE/scene.img" wavenumbers.img
why="the scene has no wavelengths to resample by: wavelengths are left out: their unit is 'cm-1'"
refuse 3 "$why" unmix wavenumbers.hdr x.img --library "$SAMPLE/library.sli"
refuse 2 "the scene has no wavelengths ... left out ... 'cm-1'" \
    bands wavenumbers.hdr x.img --wavelength 500-600
refuse 2 "no band within 50 nm of 650 nm ... left out ... 'cm-1'" \
    preview wavenumbers.hdr x.png --wavelengths 650
for first in wavenumber_cm-1 Wavenumber "x (1/cm)"; do
    printf '%s,Oak,Elm\n25000,0.1,0.2\n20000,0.2,0.3\n10000,0.2,0.3\n' "$first" >wavenumbers.csv
    run 0 info wavenumbers.csv
    [[ $out == *"wavelengths are left out"*"'cm-1'"* ]] || fail "$first: $out"
    refuse 3 "no wavelengths to resample by ... left out ... 'cm-1'" \
        unmix "$scene" x.img --library wavenumbers.csv
done

# A file beside a library that cannot be looked at is not a missing one: exit code 4 (or all is well without it).
if ! sanitized; then
    cp "$SAMPLE"/endmembers.{hdr,sli} .
    failed=0
    for ((call = 1; call <= 30; call++)); do
        status=0
        HCUBE_FAIL=stat:EIO HCUBE_FAIL_SCOPE=own HCUBE_FAIL_AT=$call HCUBE_FAIL_TIMES=1 LD_PRELOAD=$MODULES/fail_at.so \
            "$HCUBE" info endmembers.sli >log.txt 2>&1 || status=$?
        [[ $status == 0 || ($status == 4 && $(tail -n 1 log.txt) == "hcube: "*"Input/output error"*) ]] ||
            fail "call $call: exit code $status: $(<log.txt)"
        failed=$((failed + (status == 4)))
    done
    ((failed > 0)) || fail "no call was seen to fail"
fi
