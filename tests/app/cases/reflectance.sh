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

# A drill core, from its folder to a map of minerals, beside the truth
run 0 run read "$SAMPLE/core" ! reflectance --panel 0.99 ! identify --library "$SAMPLE/endmembers.sli" \
    --rules "$SAMPLE/rules.json" ! bands 1 ! write minerals.img
run 0 compare minerals.img "$SAMPLE/core/class.hdr"
for mineral in Kaolinite Iron-oxide; do
    f1=$(sed -nE "s/^[0-9]+ +$mineral .* ([0-9.]+)$/\1/p" <<<"$out")
    [[ $f1 == 0.99* || $f1 == 1.0000 ]] || fail "$mineral: F1 is '$f1' in $out"
done
