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
rm a.tif
refuse 2 "a.qml" mnf "$scene" a.tif --components 3 --qml
run 0 mnf "$scene" a.tif --components 3 --qml --overwrite
# The style of another raster, and one that somebody made, stay even with --overwrite.
before=$(cksum a.qml)
refuse 2 "a.qml" mnf "$scene" a.img --components 3 --qml --overwrite
echo '<qgis version="3.40"/>' >b.qml
refuse 2 "b.qml" mnf "$scene" b.tif --components 3 --qml --overwrite
[[ $(cksum a.qml) == "$before" && $(cat b.qml) == '<qgis version="3.40"/>' ]]
# Without --qml a style of ours goes with the file that it described; others stay.
run 0 mnf "$scene" a.tif --components 3 --overwrite
run 0 mnf "$scene" b.tif --components 3
run 0 mnf "$scene" b.tif --components 3 --overwrite
only a.tif a.tif.hcube.json b.tif b.tif.hcube.json b.qml
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
