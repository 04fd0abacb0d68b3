# write --qml: a style for QGIS beside the output, which belongs to it.
# shows FILE PART...: the style holds these texts.
shows() {
    local file=$1 text
    text=$(cat "$file")
    shift
    for part in "$@"; do
        [[ $text == *"$part"* ]] || fail "$file: has no '$part': $text"
    done
}

# ---- what is shown ----
run 0 run read "$scene" ! write scene.tif --qml ! mnf --components 4 ! write mnf.img --qml
only scene.tif scene.qml scene.tif.hcube.json mnf.img mnf.hdr mnf.qml mnf.img.hcube.json
shows scene.qml '<qgis hcube="scene.tif"' 'type="multibandcolor"' 'gamma="1.4"'
shows mnf.qml '<qgis hcube="mnf.img"' 'redBand="1" greenBand="2" blueBand="3"' StretchToMinimumMaximum
[[ $(cat mnf.qml) != *gamma* ]] || fail "mnf.qml: components have a gamma"
run 0 info mnf.hdr # the style is not taken for its data
run 0 run read "$scene" ! knn --training "$SAMPLE/class.hdr" -k 3 ! bands 1 ! write map.tif --qml
shows map.qml 'type="paletted" band="1"'
[[ $(grep -c paletteEntry map.qml) -lt 20 ]] || fail "map.qml has classes that do not occur: $(cat map.qml)"
[[ $(cat map.qml) != *'value="0"'* ]] || fail "map.qml shows pixels of no class"
run 0 run read "$scene" ! abundance --endmembers "$SAMPLE/endmembers.csv" ! write parts.tif --qml
shows parts.qml 'type="singlebandpseudocolor" band="1"' 'classificationMin="0" classificationMax="1"'
run 0 run read "$scene" ! rx ! write rx.tif --qml
shows rx.qml 'type="singlebandpseudocolor" band="1"'
[[ $(cat rx.qml) != *'classificationMax="1"'* ]] || fail "rx.qml has the range of fractions"
# Values of both signs: as far below 0 as above.
run 0 run read "$scene" ! detect --targets "$SAMPLE/endmembers.csv" --method ace ! write ace.tif --qml
[[ $(cat ace.qml) =~ classificationMin=\"-([0-9.e-]+)\"\ classificationMax=\"([0-9.e-]+)\" ]] || fail "$(cat ace.qml)"
[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]] || fail "ace.qml: from -${BASH_REMATCH[1]} to ${BASH_REMATCH[2]}"
if command -v xmllint >/dev/null; then
    xmllint --nonet --noout ./*.qml || fail "a style is no XML"
fi
# ---- whose it is ----
mkdir own
cd own
run 0 mnf "$scene" a.tif --components 3 --qml
only a.tif a.qml a.tif.hcube.json
refuse 2 "a.tif" mnf "$scene" a.tif --components 3 --qml
rm a.tif # what is left of it is replaced
run 0 mnf "$scene" a.tif --components 3 --qml
run 0 mnf "$scene" a.tif --components 3 --qml --overwrite
# The style of another raster, and one that somebody made, stay even with --overwrite.
before=$(cksum a.qml)
refuse 2 "a.qml" mnf "$scene" a.img --components 3 --qml --overwrite
echo '<qgis version="3.40"/>' >b.qml
refuse 2 "b.qml" mnf "$scene" b.tif --components 3 --qml --overwrite
[[ $(cksum a.qml) == "$before" && $(cat b.qml) == '<qgis version="3.40"/>' ]]
# Without a style, one of ours goes with the file that it described; others stay.
run 0 mnf "$scene" a.tif --components 3 --overwrite --no-qml
run 0 mnf "$scene" b.tif --components 3 --no-qml
run 0 mnf "$scene" b.tif --components 3 --overwrite --no-qml
only a.tif a.tif.hcube.json b.tif b.tif.hcube.json b.qml
[[ ! -e a.qml ]] || fail "a.qml is left"
refuse 2 "writes this file already" run read "$scene" ! write c.tif --qml ! write c.img --qml
refuse 2 "writes this file already" run read "$scene" ! cov c.qml ! write c.tif --qml
mkdir pair
cd pair
run 0 mnf "$scene" e.img --components 3 --qml
rm e.img
run 0 mnf "$scene" e.img --components 3 --qml --overwrite # the header belongs to nobody else
only e.img e.hdr e.qml e.img.hcube.json
cd .. && rm -r pair
run 8 mnf "$scene" d.tif --qml --noise-window 0,0,5,5
only a.tif a.tif.hcube.json b.tif b.tif.hcube.json b.qml
[[ ! -e a.qml ]] || fail "a.qml is left"

# ---- without being asked for ----
cd ..
mkdir usual
cd usual
run 0 run read "$scene" ! mnf --components 3 ! write a.tif ! write b.img ! write c.nc ! write d.png --type uint8 --scale 9
run 0 mnf "$scene" e.tif --components 3 --format COG
run 0 mnf "$scene" f.tif --components 3 --no-qml
run 0 mnf "$scene" g.nc --components 3 --qml
[[ $(echo ./*.qml) == "./a.qml ./b.qml ./e.qml ./g.qml" ]] || fail "styles: $(echo ./*.qml)"
refuse 2 "give one of --qml and --no-qml" mnf "$scene" h.tif --qml --no-qml
# One that hcube did not make for the output stays, and a note says so.
echo '<qgis version="3.40"/>' >h.qml
before=$(cksum a.qml h.qml)
for output in a.img h.tif h.img; do
    run 0 mnf "$scene" $output --components 3 --overwrite
    [[ $err == *"$output gets no style"*"${output%.*}.qml belongs to another"* ]] || fail "$output: $err"
done
run 0 run read "$scene" ! write i.tif ! write i.img
[[ $err == *"i.img gets no style"*"i.qml belongs to another"* ]] || fail "$err"
shows i.qml '<qgis hcube="i.tif"'
[[ $(cksum a.qml h.qml) == "$before" ]] || fail "a style was replaced"
ln -s h.qml j.qml
ln -s nowhere k.qml
run 0 mnf "$scene" j.tif --components 3
run 0 mnf "$scene" k.tif --components 3
[[ -L j.qml && -L k.qml && $(cksum a.qml h.qml) == "$before" && ! -e nowhere ]] || fail "a link was replaced"
# It would be the style of the scene, too.
cp "$SAMPLE/scene.img" "$SAMPLE/scene.hdr" .
run 0 mnf scene.hdr scene.tif --components 3
[[ ! -e scene.qml && $err == *"scene.tif gets no style for QGIS"* ]] || fail "$err"
# One that outlived its output describes it no more.
rm a.tif
run 0 read "$scene" a.tif
shows a.qml '<qgis hcube="a.tif"'
[[ $(cksum a.qml h.qml) != "$before" ]] || fail "a.qml is that of the old a.tif"
# A batch writes none unless it is told to.
run 0 batch mnf --components 3 ! write --scenes "$scene" --output 'out/{stem}.tif'
[[ ! -e out/scene.qml && -e out/scene.tif ]] || fail "out: $(ls out)"
run 0 batch mnf --components 3 ! write --qml --scenes "$scene" --output 'more/{stem}.tif'
[[ -e more/scene.qml ]] || fail "more: $(ls more)"

# ---- the colours of classes ----
for format in GTiff COG; do
    for type in uint8 uint16; do
        run 0 run read "$scene" ! knn --training "$SAMPLE/class.hdr" -k 3 ! bands 1 ! write map.tif --format $format --type $type --overwrite
        [[ $(grep -c '<Entry ' map.tif.aux.xml) == 7 ]] || fail "$format: colours of $(cat map.tif.aux.xml)"
        if command -v gdalinfo >/dev/null; then
            [[ $(gdalinfo map.tif) == *"Color Table (RGB with 7 entries)"* ]] || fail "$(gdalinfo map.tif)"
        fi
        run 0 info map.tif
        [[ $out == *"#2c68be Water"* ]] || fail "$out"
    done
done
