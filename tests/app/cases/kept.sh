# What a format does not keep of the place is a note, of the nodata value a refusal in plan, and a driver that cannot do
# what is asked says so there as well: what plan says holds for run.
keep() { # NOTE FILE WORD...
    run 0 run read "$scene" --window 10,10,40,30 ! bands 1 ! write "${@:2}" --overwrite
    [[ -z $1 || $err == *"note: write: $2: the format "*" does not keep $1"* ]] || fail "${*:2}: says $err"
    [[ -n $1 || $err != *"does not keep"* ]] || fail "${*:2}: says $err"
}
for name in a.tif a.img a.nc; do
    keep "" $name
done
keep "" cog.tif --format COG --type int16
able() { # DRIVER: GDAL has it
    local said
    said=$("$HCUBE" plan run read "$scene" ! bands 1 ! write able.x --format "$1" 2>&1) || true
    [[ $said != *"there is no format"* ]]
}
if able XYZ; then
    keep "the reference system" a.xyz --nodata nan # the type, which its readers take from the values, is no matter
    python3 - <<'READ'
import json
notes = json.load(open("a.xyz.hcube.json"))["notes"]
assert any("does not keep the reference system" in note for note in notes), notes
READ
    refuse 6 "a.xyz: XYZ cannot hold 1 bands of int16 ... nodata" \
        plan run read "$scene" ! bands 1 ! write a.xyz --type int16 --nodata -9999 --overwrite
fi
if able FITS; then
    keep "the place (its corners lie " a.fits --nodata nan
    refuse 6 "a.fits: FITS cannot hold 1 bands of float32 ... nodata" \
        plan run read "$scene" ! bands 1 ! write a.fits --nodata -9999 --overwrite
fi
! able PCIDSK || keep "" a.pix
! able HFA || keep "" hfa.img --format HFA
# Known in plan, of drivers that know files on disk alone, too.
plan_as_run() { # DRIVER ENDING WORD...: both give the same exit code
    local status=0
    able "$1" || return 0
    "$HCUBE" plan run read "$scene" ! bands 1-5 ! write "p.$2" --format "$1" "${@:3}" >plan.txt 2>&1 || status=$?
    run "$status" run read "$scene" ! bands 1-5 ! write "p.$2" --format "$1" "${@:3}"
}
plan_as_run HDF4Image dat
plan_as_run MEM dat
plan_as_run FIT fit
plan_as_run GPKG gpkg --type int16
plan_as_run Rasterlite sqlite --type int16
plan_as_run ISIS3 cub --nodata 0
plan_as_run PCRaster map
[[ -z $(find "${TMPDIR:-/var/tmp}" -maxdepth 1 -name 'hcube-probe-*' -newer plan.txt 2>/dev/null) ]] || fail "a probe is left"
# No option is taken in silence.
refuse 6 "o.nc: WRITE_BOTTOMUP=NO has no effect here" plan run read "$scene" ! write o.nc --co WRITE_BOTTOMUP=NO
if able MRF; then
    run 0 run read "$scene" ! bands 1-3 ! write lerc.mrf --format MRF --co COMPRESS=LERC --co OPTIONS=LERC_PREC:3
    [[ $err == *"loses values: they differ by up to"* ]] || fail "LERC in MRF: $err"
fi
run 0 run read "$SAMPLE/class.hdr" ! write class.nc --co COMPRESS=DEFLATE
