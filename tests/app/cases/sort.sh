# Wavelengths that fall back, as of sensors of several detectors: --sort and --overlap, in each interleave, also by GDAL.
waves='{400, 450, 500, 550, 600, 650, 575, 625, 675, 725, 775, 825}'
make() { # NAME INTERLEAVE
    header "$1" 4 3 12 1 "$2"
    printf 'wavelength units = nm\nwavelength = %s\n' "$waves" >>"$1.hdr"
    head -c 144 <(seq 1 99 | tr -d '\n' | tr '0-9' 'a-j') >"$1.img"
}
for interleave in bil bip bsq; do
    make "$interleave" $interleave
    run 0 run read $interleave.hdr ! bands 1-4,7,5,8,6,9-12 ! write $interleave-given.img --interleave bip --overwrite
    for more in "" --no-direct; do
        run 0 run read $interleave.hdr --sort $more ! write sorted.img --interleave bip --overwrite
        holds "$err" 'from 575.0 to 650.0 nm bands of two detectors take turns: spectra have spikes there' || fail "notes: $err"
        cmp sorted.img $interleave-given.img || fail "$interleave $more: other values"
    done
    run 0 run read $interleave.hdr --sort --overlap vnir ! write vnir.img --overwrite
    run 0 run read $interleave.hdr ! bands 1-6,9-12 ! write given.img --overwrite
    cmp vnir.img given.img || fail "$interleave --overlap vnir: other values"
    run 0 run read $interleave.hdr --overlap swir ! write swir.img --overwrite
    holds "$err" '2 bands of the detector of shorter wavelengths there count as bad' || fail "notes: $err"
    run 0 run read $interleave.hdr ! bands 1-4,7-12 ! write given.img --overwrite
    cmp swir.img given.img || fail "$interleave --overlap swir: other values"
done
run 0 info sorted.img --json
run 0 run read bil.hdr --sort --all-bands --overlap vnir ! write all.img --interleave bip
cmp all.img bil-given.img || fail "--all-bands: other values"

# A mean of a stage that sums the bytes of the file
run 0 cov bil.hdr file.json --record none
run 0 run read bil.hdr --sort ! cov sorted.json
run 0 run read bil-given.img ! cov given.json
sum() { sed -n '/"mean"/,/]/p' "$1"; }
[[ -n $(sum sorted.json) && $(sum sorted.json) == "$(sum given.json)" ]] || fail "cov of sorted bands has other means"

# Rising wavelengths stay as they are
run 0 run read "$SAMPLE/scene.hdr" --sort ! write same.img
run 0 run read "$SAMPLE/scene.hdr" ! write plain.img
cmp same.img plain.img
