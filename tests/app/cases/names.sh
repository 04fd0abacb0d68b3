# Names that a spreadsheet would compute or that turn the direction of a text: an apostrophe comes before them in CSV, which
# reading takes off, and marks are shown as escapes.
turned=$(printf 'a\342\200\256b\033c')
printf 'WKT,class\nPOINT (43.5 50.5),=1+1\nPOINT (45.5 50.5),-5\nPOINT (47.5 50.5),"@a,b"\nPOINT (49.5 50.5),a\342\200\256b\n' >classes.csv
grep -v '^map info\|^coordinate system' "$scene" >plain.hdr
cp "$SAMPLE/scene.img" plain.img
run 0 extract plain.hdr spectra.csv --labels classes.csv --field class --statistics statistics.csv --device cpu --record none
names='"-5","'"'"'=1+1","'"'"'@a,b","a\u202eb"'
[[ $(head -n 1 spectra.csv) == *",$names" ]] || fail "the head is $(head -n 1 spectra.csv)"
for name in '"-5",' "\"'=1+1\"," "\"'@a,b\"," '"a\u202eb",'; do
    [[ $(<statistics.csv) == *$'\n'"$name"* ]] || fail "no $name in $(cut -d, -f 1 statistics.csv | sort -u)"
done
# A number stays one: the only apostrophes are those.
[[ $(tail -n +2 spectra.csv | grep -c "'" || true) == 0 ]] || fail "numbers have apostrophes"
run 0 info spectra.csv --json --bands
for name in '"=1+1"' '"-5"' '"@a,b"'; do
    [[ $out == *"$name"* ]] || fail "no $name in $out"
done

# Names of a linear program.
cat >model.mps <<'MPS'
NAME          NAMES
ROWS
 N  COST
 L  +ROW
COLUMNS
    =X        COST            -1.0   +ROW             1.0
    Y         COST            -1.0   +ROW             1.0
RHS
    RHS       +ROW             4.0
ENDATA
MPS
run 0 solve lp model.mps x.csv --prices y.csv
[[ $(<x.csv) == *$'\n'"'=X,"* && $(<x.csv) == *$'\n'"Y,"* && $(<y.csv) == *$'\n'"'+ROW,-1" ]] || fail "$(<x.csv) $(<y.csv)"

# Scenes of a batch: table, page, lines and JSON.
sed 's/^lines *=.*/lines = 4/' plain.hdr >"=$turned.hdr"
head -c $((4 * 100 * 64 * 2)) plain.img >"=$turned.img"
run 0 batch pca --components 2 --scenes '=*.hdr' --output 'out/{index}.tif' --device cpu --summary all.csv --report all.html
[[ $(<all.csv) == *",'=a\\u202eb\\x1bc.hdr,"* ]] || fail "$(<all.csv)"
for page in all.html out/*.html; do
    [[ $(<"$page") == *'=a\u202eb\x1bc.hdr'* ]] || fail "$page does not name the scene"
done
run 0 info "=$turned.hdr"
[[ $out == *'=a\u202eb\x1bc'* ]] || fail "$out"
run 0 info "=$turned.hdr" --json
[[ $out == *'=a\u202eb\u001bc'* ]] || fail "$out"
run 0 batch pca --components 2 --scenes '=*.hdr' --output 'out/{index}.tif' --device cpu --progress json
[[ $err == *'=a\u202eb\u001bc.hdr'* ]] || fail "$err"
run 0 figure "=$turned.hdr" page.svg --bands 1 --title "$turned" --device cpu
[[ $(<page.svg) == *'>a\u202eb\x1bc</text>'* ]] || fail "no title in the SVG"
for file in all.csv all.html spectra.csv statistics.csv page.svg out/*.html; do
    ! LC_ALL=C grep -q "$(printf '\342\200\256\\|\033')" "$file" || fail "$file has a mark as it is"
done
