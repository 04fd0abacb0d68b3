# What `write` makes of names, types and formats.

# The name of a header stands for the pair.
run 0 write "$scene" pair.hdr
only pair.hdr pair.img pair.img.hcube.json
run 0 plan read "$scene" ! mnf --components 3 ! write mnf.hdr
run 0 mnf "$scene" pair.hdr --components 3 --overwrite
run 0 info pair.hdr
[[ $out == *"x 3 bands of float32"* ]] || fail "pair.hdr: $out"
refuse 2 "pair.img" write "$scene" pair.hdr
rm pair.*

# Fractions as integers: GDAL's scale and offset, nodata outside of the values, and what a type cannot hold.
shares=(read "$scene" ! abundance --endmembers "$SAMPLE/endmembers.sli")
run 0 run "${shares[@]}" ! write plain.tif --type uint8
[[ $err == *"write: plain.tif: values from 0 to 0.99"*"rounded to whole numbers (uint8)"*"'! write plain.tif --scale 0.004' keeps fractions"* ]] ||
    fail "no note: $err"
# What the note says works: --scale of the command alone is that of the endmembers.
run 0 abundance "$scene" short.tif --endmembers "$SAMPLE/endmembers.sli" --type uint8
[[ $err == *"'! write short.tif --scale 0.004' keeps fractions"* ]] || fail "no advice: $err"
run 0 run "${shares[@]}" ! write short.tif --type uint8 --scale 0.004 --overwrite
[[ $err != *"keeps fractions"* ]] || fail "a note for nothing: $err"
rm short.tif*
run 0 run "${shares[@]}" ! write scaled.tif --type uint8 --scale 0.004 ! write scaled.img --no-qml --type int16 --scale 0.0001
[[ $err != *"write:"* ]] || fail "a note for nothing: $err"
run 0 info scaled.tif
[[ $out == *"nodata       255"*"scale        0.004, offset 0: value = scale x stored + offset"* ]] || fail "scale: $out"
run 0 info scaled.img
[[ $out == *"nodata       -32768"*"scale        0.0001, offset 0"* ]] || fail "scale: $out"
run 0 mnf "$scene" low.tif --components 3 --type uint8
[[ $err == *"write: low.tif: "*" of 27192 values ("*"%) were clamped to 0 .. 254 (uint8)"*"range from -"* ]] ||
    fail "no note: $err"
grep -q '"clamped_values":' low.tif.hcube.json || fail "the record has no count"
refuse 2 "take no scale" write "$SAMPLE/class.img" class.tif --scale 2
refuse 2 "0 is no scale" write "$scene" zero.tif --scale 0
if command -v gdalinfo >/dev/null; then
    text=$(gdalinfo scaled.tif)
    [[ $text == *"Offset: 0,   Scale:0.004"* && $text == *"NoData Value=255"* ]] || fail "scaled.tif: $text"
    text=$(gdal_translate -q -unscale -ot Float32 -a_nodata none scaled.img whole.tif && gdalinfo -mm whole.tif)
    [[ $text == *"Min/Max="* ]] || fail "whole.tif: $text"
fi
rm -f -- *

# Numbers of spectra come with their names, and a class map with further bands says what becomes of its colours.
run 0 run read "$scene" ! unmix --library "$SAMPLE/library.sli" --top 2 ! write top.img ! write top.tif
grep -q "^spectrum names = {none,$" top.hdr || fail "top.hdr has no names: $(cat top.hdr)"
grep -aq 'name="spectrum_names"' top.tif || fail "top.tif has no names"
for name in top.img top.tif; do
    run 0 info $name
    [[ $out == *"spectra "*" 1 Green vegetation stressed"* ]] || fail "$name: $out"
    run 0 info $name --json
    [[ $out == *'"spectrum_names_from_0":'*'["none", "Green vegetation stressed", '* ]] || fail "$name: $out"
done
run 0 run read "$scene" ! knn --training "$SAMPLE/class.hdr" --confidence --distance ! write both.tif ! bands 1 ! write classes.tif
[[ $err == *'both.tif: classes and further bands'*'float32'*'"bands 1 ! write FILE"'* ]] ||
    fail "no note: $err"
[[ $err != *'write: classes.tif'* ]] || fail "a note for nothing: $err"
run 0 info classes.tif
[[ $out == *"x 1 bands of uint8"*"Water"* ]] || fail "classes: $out"
# Votes are integers, so that classes with confidence keep names and colours; the file has the scale of each band.
run 0 run read "$scene" ! knn --training "$SAMPLE/class.hdr" -k 4 --confidence ! write votes.tif ! write votes.img ! \
    write votes_cog.tif --format COG
[[ $err != *note:*float32* ]] || fail "a note for nothing: $err"
for name in votes.tif votes.img votes_cog.tif; do
    run 0 info $name
    [[ $out == *"x 2 bands of uint8"*"Water"* ]] || fail "$name: $out"
    ! command -v gdalinfo >/dev/null || text=$(gdalinfo "$name")
    ! command -v gdalinfo >/dev/null ||
        [[ $text == *Band\ 1*Color\ Table*Band\ 2*"Description = confidence"*"Offset: 0,   Scale:0.25"* &&
            $text == *Band\ 1*Categories:*Water*Band\ 2* ]] || fail "$name: $text"
done
grep -q "^1, 0.25}$" votes.hdr || fail "$(cat votes.hdr)"
refuse 2 "nodata 8 ... band 2 (0 to 9)" run read "$scene" ! knn --training "$SAMPLE/class.hdr" -k 9 --confidence ! \
    write votes.tif --nodata 8 --overwrite
rm -f -- *
