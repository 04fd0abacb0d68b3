# library: files of instruments and databases, libraries of each other. Formats and flaws: test_library_formats; grids and
# joined values: test_library_join.
row() { printf '%s\n' "$@"; }

# A folder of the USGS: wavelengths two folders above, two instruments, error bars, other files.
mkdir -p usgs/data/ChapterM_Minerals usgs/data/errorbars
row " splib07a Record=1: Wavelengths BECK in microns" 0.4 0.5 0.6 0.7 >usgs/splib07a_Wavelengths_BECK.txt
row " splib07a Record=2: Wavelengths ASD in microns" 0.4 0.5 0.6 0.7 0.8 >usgs/splib07a_Wavelengths_ASD.txt
row " splib07a Record=3: Kaolinite KGa-1 BECKb AREF" 0.1 0.2 0.3 0.4 >usgs/data/ChapterM_Minerals/b.txt
row " splib07a Record=4: Alunite GDS84 ASDFRa AREF" 0.5 0.5 0.5 0.5 0.5 >usgs/data/ChapterM_Minerals/a.txt
row " splib07a Record=5: errorbars for Alunite ASDFRa AREF" 0 0 0 0 0 >usgs/data/errorbars/a.txt
row "About these files" >usgs/README.txt
refuse 3 "a.txt has 5 bands from 400 to 800 nm, usgs/data/ChapterM_Minerals/b.txt has 4 bands from 400 to 700 nm: --wavelengths" \
    library import usgs usgs.sli
[[ ! -e usgs.sli && ! -e usgs.hdr ]] || fail "a refused import left files"
run 0 library import usgs usgs.sli --wavelengths 400-700:100
[[ $out == "usgs.sli: 2 spectra x 4 bands" && $err == "note: 4 files of folders without spectra left out" ]] || fail "$out$err"
[[ $(sed -n '/^hcube/,$p' usgs.hdr | tr '\n' ' ') == \
    'hcube entry class = { Minerals, Minerals} hcube entry source = { splib07a Record=4, splib07a Record=3} hcube entry quality = { a, b} ' ]] ||
    fail "facts: $(cat usgs.hdr)"
run 0 library convert usgs.sli usgs.csv --quiet
[[ -z $out$err && $(cat usgs.csv) == '# class,"Minerals","Minerals"
# source,"splib07a Record=4","splib07a Record=3"
# quality,"a","b"
wavelength [nm],"Alunite GDS84 ASDFRa AREF","Kaolinite KGa-1 BECKb AREF"
400,0.5,0.100000001
500,0.5,0.200000003
600,0.5,0.300000012
700,0.5,0.400000006' ]] || fail "csv: $out$err$(cat usgs.csv)"
run 0 library convert usgs.csv back.sli
cmp usgs.sli back.sli || fail "a library is not the same by way of CSV"
[[ $(sed -n '/^spectra/,$p' back.hdr) == "$(sed -n '/^spectra/,$p' usgs.hdr)" ]] || fail "facts differ: $(cat back.hdr)"

# Stages and info read both.
run 0 info usgs.csv
[[ $out == *"2 spectra x 4 bands"*"1 Alunite GDS84 ASDFRa AREF (class Minerals, source splib07a Record=4, quality a)"* ]] ||
    fail "info: $out"
run 0 info usgs.sli --json
[[ $(tr -d ' \t\n' <<<"$out") == *'"facts":{"class":["Minerals","Minerals"],"source":["splib07aRecord=4",'*'"quality":["a","b"]}'* ]] ||
    fail "info --json: $out"

# Choices: names, numbers, class, quality; all must hold.
run 0 library select usgs.sli one.csv --spectra '*kaol*' --class 'min*,x' --quality b
[[ $(sed -n '/^wave/p' one.csv) == 'wavelength [nm],"Kaolinite KGa-1 BECKb AREF"' ]] || fail "select: $(cat one.csv)"
run 0 library select usgs.csv two.sli --spectra 1
[[ $(sed -n '/^spectra/,/}/p' two.hdr) == *"Alunite GDS84 ASDFRa AREF}" ]] || fail "numbers: $(cat two.hdr)"
refuse 2 "library select: --quality c*: no spectrum has such a quality (the first has a)" library select usgs.sli x.sli --quality 'c*'
refuse 2 "usgs.sli has entries 1 to 2" library select usgs.sli x.sli --spectra 3
refuse 2 "library select: --spectra quarz" library select usgs.sli x.sli --spectra quarz

# Several files; names that repeat get numbers; a grid of a library, and of a file.
run 0 library merge usgs.sli one.csv two.sli all.csv --quiet
[[ $(sed -n '/^wave/p' all.csv) == *'"Alunite GDS84 ASDFRa AREF","Kaolinite KGa-1 BECKb AREF","Kaolinite KGa-1 BECKb AREF (2)","Alunite GDS84 ASDFRa AREF (2)"' ]] ||
    fail "merge: $(cat all.csv)"
row 0.45 0.55 >grid.txt
run 0 library merge usgs.sli one.csv grid.csv --wavelengths grid.txt
[[ $(sed -n '/^450,/p' grid.csv) == 450,0.5,0.15*,0.15* ]] || fail "grid: $(cat grid.csv)"
run 0 library merge --quiet "$SAMPLE/library.sli" like.sli --like "$SAMPLE/endmembers.sli"
refuse 2 "excludes" library merge usgs.sli x.sli --like usgs.sli --wavelengths grid.txt
refuse 2 "--wavelengths 700-400:1: expected A-B:STEP" library merge usgs.sli x.sli --wavelengths 700-400:1

# One bad file ends the import, or is left out with a note.
row " splib07a Record=6: Calcite WS272 BECKa AREF" 0.1 0.2 bad 0.4 >usgs/data/ChapterM_Minerals/c.txt
refuse 3 "c.txt: line 4 is 'bad', and not one number" library import usgs x.sli --wavelengths 400-700:100
run 0 library import usgs x.sli --wavelengths 400-700:100 --skip-unreadable
[[ $out == "x.sli: 2 spectra x 4 bands" && $err == *"note: left out: usgs/data/ChapterM_Minerals/c.txt: line 4 is"* ]] || fail "$out$err"
printf '\0K%510s' '' | tr ' ' '\0' >a.spc
refuse 6 "a.spc: files of the format Galactic SPC are not read" library import a.spc y.sli
mkdir empty
refuse 3 "empty: no file with spectra" library import empty y.sli
refuse 3 "none.asd" library import none.asd y.sli

# Outputs: no input, no other file without --overwrite, both files of a library or none.
refuse 2 "x.sli" library import usgs x.sli --wavelengths 400-700:100
refuse 2 "usgs.sli" library merge usgs.sli usgs.sli --overwrite
refuse 2 "usgs.sli" library convert usgs.hdr usgs.sli --overwrite
refuse 2 "usgs.csv" library select usgs.csv usgs.csv --overwrite
cp usgs.csv usgs/own.csv
refuse 2 "usgs/own.csv" library import usgs usgs/own.csv --overwrite --skip-unreadable
cmp usgs.csv usgs/own.csv || fail "an input was replaced"
refuse 2 "grid.csv" library merge usgs.sli grid.csv --like grid.csv --overwrite
refuse 2 "ends neither with .sli nor .csv" library convert usgs.sli x.txt
cp "$SAMPLE/scene.hdr" other.hdr
refuse 2 "other.hdr is the header of another file" library convert usgs.csv other.sli --overwrite
run 0 library import usgs x.sli --wavelengths 400-700:100 --skip-unreadable --overwrite --quiet
[[ -z $out$err ]] || fail "quiet: $out$err"
mkdir full && chmod 555 full
[[ $(id -u) == 0 ]] || refuse 4 "full" library convert usgs.csv full/x.sli

# Names: control characters and what a spreadsheet would compute.
printf 'nm,"=1+1",a\033b,"=1+1"\n400,1,2,3\n500,1,2,3\n' >odd.csv
run 0 library convert odd.csv odd2.csv
[[ $(sed -n '/^wave/p' odd2.csv) == "wavelength [nm],\"'=1+1\",\"a b\",\"'=1+1 (2)\"" ]] || fail "names: $(cat odd2.csv)"

run 0 library plot usgs.sli plot.svg --spectra '*kaol*' --quiet
[[ $(cat plot.svg) == *'>Kaolinite KGa-1 BECKb AREF<'* && $(cat plot.svg) != *Alunite* ]] || fail "plot"
refuse 2 "does not end with .png, .svg or .pdf" library plot usgs.sli plot.txt
refuse 2 "plot.svg" library plot usgs.sli plot.svg

refuse 2 "library: no command given" library
refuse 2 "library: merg: unknown command, did you mean merge?" library merg
refuse 2 "library import: INPUT is missing" library import
refuse 2 "OUTPUT is missing" library import usgs
