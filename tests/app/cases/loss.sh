# Options that lose values: a note with the largest error, measured in the file; never classes, never masked pixels.
lose() { # NOTE WORD...
    run 0 run read "$scene" --window 10,10,40,30 ! bands 1-3 ! write "${@:2}" --overwrite
    [[ $err == *"$1"* ]] || fail "${*:2}: says $err"
}
keep_all() {
    run 0 run read "$scene" --window 10,10,40,30 ! bands 1-3 ! write "$@" --overwrite
    [[ $err != *"loses values"* ]] || fail "$*: says $err"
}
keep_all plain.tif --type uint16
lose "lerc.tif: the format with its options loses values: they differ by up to 5" lerc.tif --co COMPRESS=LERC --co MAX_Z_ERROR=5
run 0 compare lerc.tif plain.tif # the figure is what a reader of the file finds
lose "loses values: they differ by up to 4" bits.tif --type uint16 --co DISCARD_LSB=3
lose "loses values: they differ by up to" few.tif --type uint16 --co NBITS=10
lose "loses values: they differ by up to" cog.tif --format COG --co COMPRESS=LERC --co MAX_Z_ERROR=2
keep_all lerc.tif --co COMPRESS=LERC
keep_all zero.tif --co COMPRESS=LERC --co MAX_Z_ERROR=0
keep_all enough.tif --type uint16 --co NBITS=15
python3 - <<'READ'
import json
notes = json.load(open("bits.tif.hcube.json"))["notes"]
assert any("loses values" in note for note in notes), notes
READ
# Class maps are never written with a loss, nor is nodata lost.
refuse 6 "c.tif: GTiff ... changes numbers of classes by up to" \
    run read "$SAMPLE/class.hdr" ! write c.tif --co COMPRESS=JPEG
refuse 6 "data of masked pixels, or masks data" \
    run read "$scene" ! bands 1-3 ! write m.tif --type uint16 --nodata 65535 --co NBITS=8
[[ ! -e c.tif && ! -e m.tif ]] || fail "a file with a loss has its name"
# JPEG 2000 is lossless unless a lower quality is asked for.
if "$HCUBE" plan read "$scene" a.jp2 >/dev/null 2>&1; then
    keep_all a.jp2 --type uint16
    lose "b.jp2: the format with its options loses values: they differ by up to" b.jp2 --type uint16 --co QUALITY=20
    refuse 6 "changes numbers of classes" run read "$SAMPLE/class.hdr" ! write c.jp2 --co QUALITY=5
fi
