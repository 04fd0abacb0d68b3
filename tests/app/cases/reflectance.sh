# Raw counts of a line scanner: references beside the scene, folders of Specim and Headwall, chains, what is refused.
has() {
    holds "$out $err" "$1" || fail "says '$out $err' and not '$1'"
}
counts() { # NAME LOW_BYTE HIGH_BYTE LINES FIELD
    header "$1" 4 "$4" 3 12 bil
    echo "$5" >>"$1.hdr"
    printf "\\x$2\\x$3%.0s" $(seq $((4 * $4 * 3))) >"$1.img"
}
mkdir -p specim/capture headwall
counts specim/capture/core 90 01 5 'tint = 8'
counts specim/capture/DARKREF_core 64 00 2 'tint = 8'
counts specim/capture/WHITEREF_core 20 03 2 'tint = 4'
echo '<manifest/>' >specim/manifest.xml
counts headwall/raw 90 01 5 ''
counts headwall/darkReference 64 00 2 ''
counts headwall/whiteReference 20 03 2 ''

# (400 - 100) / (800 - 100) x 0.7, and half of it with the exposures
run 0 info specim
has 'a folder of Specim: the scene is core.hdr, its dark is DARKREF_core.hdr, its white is WHITEREF_core.hdr'
run 0 info headwall
has 'a folder of Headwall: the scene is raw.hdr, its dark is darkReference.hdr, its white is whiteReference.hdr'
run 0 run read headwall ! reflectance --panel 0.7 ! write headwall.img --type float32
has 'headwall/darkReference.hdr'
run 0 info headwall.img --stats
has '0.3'
run 0 reflectance specim specim.img --panel 0.7
has 'the white has the exposure 4, the scene 8: corrected'
run 0 info specim.img --stats
has '0.15'
run 0 reflectance specim/capture/core.hdr other.img --panel 0.7 --exposure none
has 'not corrected (--exposure none)'
run 0 run read specim ! bands 1-2 ! reflectance ! filter mean3x3 ! write chain.img

# No reference, references of the wrong scene, outputs over references
cp specim/capture/core.hdr alone.hdr && cp specim/capture/core.img alone.img
run 2 reflectance alone.hdr no.img
has 'reflectance: --dark is missing'
run 2 reflectance alone.hdr no.img --dark specim/capture/DARKREF_core.hdr
has 'reflectance: --white is missing'
run 2 reflectance headwall/raw.hdr headwall/darkReference.img --overwrite
run 3 reflectance headwall no.img --dark headwall/whiteReference.hdr --white headwall/darkReference.hdr
has 'is darker than the dark in 12 of 12 columns and bands'
sed 's/samples = 4/samples = 3/' headwall/darkReference.hdr >narrow.hdr && cp headwall/darkReference.img narrow.img
run 3 reflectance headwall no.img --dark headwall/darkReference.hdr --dark narrow.hdr
has 'narrow.hdr: has 3 columns, the scene has 4'
sed 's/tint = 8/tint = 0/' specim/capture/core.hdr >alone.hdr
run 3 reflectance alone.hdr no.img --dark headwall/darkReference.hdr --white headwall/whiteReference.hdr
has 'tint = 0: an exposure is above 0'
run 2 reflectance headwall no.img --panel 0
has 'a reflectance is above 0 and at most 2'
cp headwall/raw.hdr headwall/more.hdr && cp headwall/raw.img headwall/more.img
mv headwall/raw.hdr headwall/scene.hdr && mv headwall/raw.img headwall/scene.img
run 3 info headwall
has 'holds 2 raw scenes, open one of them'
[[ ! -e no.img ]] || fail 'an output was left'

# Names that begin alike, and the calibration of a Resonon camera beside its scene
mkdir alike resonon
counts alike/leaf_raw 90 01 5 ''
counts alike/leaf_darkReference 64 00 2 ''
counts alike/leaf_whiteReference 20 03 2 ''
counts alike/stem_darkReference 64 00 2 ''
run 0 run read alike ! reflectance --panel 0.7 ! write alike.img --type float32
has 'alike/leaf_darkReference.hdr'
cmp alike.img headwall.img || fail 'other values than those of the same counts'
counts resonon/plant.bip 84 03 5 'ceiling = 900'
counts resonon/gain.bip 90 01 1 ''
counts resonon/offset_3bands_4095ceiling_0gain_4samples_8shutter.bip 64 00 1 ''
run 0 info resonon
has 'a folder of Resonon: the scene is plant.bip.hdr, its dark is offset_3bands'
run 0 reflectance resonon saturated.img --white alike/leaf_whiteReference.hdr
has 'values from 900 on are saturated (ceiling of the header)' # as all of its values are
has '20 pixels are masked'
run 0 reflectance resonon living.img --white alike/leaf_whiteReference.hdr --saturation 901 --record living.json
[[ $err != *'pixels are masked'* ]] || fail "$err"
sed -i 's/ceiling = 900/ceiling = 0/' resonon/plant.bip.hdr
run 3 reflectance resonon no.img --white alike/leaf_whiteReference.hdr
has 'ceiling = 0: a ceiling is above 0'

# Elements that are dead: column 2 in band 3
head -c 16 headwall/whiteReference.img >dead.img && printf '\x20\x03\x32\x00\x20\x03\x20\x03' >>dead.img
header dead 4 1 3 12 bil
run 0 reflectance alike/leaf_raw.hdr mended.img --dark headwall/darkReference.hdr --white dead.hdr --record dead.json
tr -d ' \t\n' <dead.json >flat.json
grep '"dead_column_band":\[2,3\]' flat.json >found.txt || fail "the record does not name the element"

# A drill core, from its folder to a map of minerals, beside the truth
run 0 run read "$SAMPLE/core" ! reflectance --panel 0.99 ! identify --library "$SAMPLE/endmembers.sli" \
    --rules "$SAMPLE/rules.json" ! bands 1 ! write minerals.img
run 0 compare minerals.img "$SAMPLE/core/class.hdr"
for mineral in Kaolinite Iron-oxide; do
    f1=$(sed -nE "s/^[0-9]+ +$mineral .* ([0-9.]+)$/\1/p" <<<"$out")
    [[ $f1 == 0.99* || $f1 == 1.0000 ]] || fail "$mineral: F1 is '$f1' in $out"
done
