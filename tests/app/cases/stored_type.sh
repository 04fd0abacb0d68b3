# The type of an output: that of the file while no step can change values and no valid pixel is nodata, else float32.
. "$(dirname "${BASH_SOURCE[0]}")/../stage_chains.sh"

# is FILE TYPE [NODATA]: what the file holds; without NODATA it has none.
is() {
    run 0 info "$1"
    [[ $out == *" bands of $2"$'\n'* ]] || fail "$1: is no $2: $out"
    [[ $out == *"nodata       ${3:-none}"* ]] || fail "$1: nodata is not ${3:-none}: $out"
}

# makes TYPE NODATA STEP WORD...: what the chain writes, as a file of each kind; NODATA may be empty.
makes() {
    local type=$1 nodata=$2
    shift 2
    rm -f made.*
    run 0 run read "$@" ! write made.img ! write made.tif
    is made.img "$type" "$nodata"
    is made.tif "$type" "$nodata"
}

# small.img has nodata and masked pixels, whole.img neither.
read=(read "$scene" --window 10,10,40,30)
run 0 run "${read[@]}" --mask "$SAMPLE/class.hdr" ! write small.img --type int16 --nodata -9999
run 0 run "${read[@]}" --source-nodata none ! write whole.img --type uint16
is small.img int16 -9999
is whole.img uint16

# A copy has the bytes of the scene; a part has those of the part.
makes int16 -9999 small.img
cmp small.img made.img
makes uint16 "" whole.img
cmp whole.img made.img
makes int16 -9999 small.img --window 3,4,20,10 ! bands 3,1
(($(stat -c %s made.img) == 20 * 10 * 2 * 2)) || fail "made.img has $(stat -c %s made.img) bytes"
run 0 run read small.img --window 3,4,20,10 ! bands 3,1 ! write typed.img --type int16
cmp typed.img made.img
[[ $err != *float32* ]] || fail "a note for nothing: $err"
run 0 run --ranks 2 --device cpu read small.img ! write ranks.img
cmp small.img ranks.img
run 0 run --verify 2 read small.img ! write verified.img
cmp small.img verified.img
run 0 run read small.img ! write before.img ! pca --components 3 ! write after.img
cmp small.img before.img
is after.img float32 nan
makes int16 -9999 small.img ! pca --fit-only --save-model model.json --overwrite
cmp small.img made.img
makes float32 -9999 small.img ! mnf --denoise --components 3
run 0 plan read small.img ! write before.tif ! pca --components 3 ! write after.tif
[[ $out == *" 2. write    int16, "*" 4. write    float32, "* ]] || fail "plan: $out"

# Masked pixels need a value that no valid pixel has.
makes float32 nan whole.img --mask small.img:1
makes uint16 7 whole.img --source-nodata 7
makes uint16 7 whole.img --source-nodata 7 --mask small.img:1
makes int16 "" small.img --source-nodata none
cmp small.img made.img
makes float32 -9999 small.img --nodata-rule all
makes float32 -99999 whole.img --source-nodata -99999
run 0 write small.img other.tif --nodata -9999
is other.tif int16 -9999
run 0 write small.img other.tif --nodata -1 --overwrite
is other.tif float32 -1
run 0 write whole.img other.tif --nodata 0 --overwrite
is other.tif float32 0
# The nodata value of one band is a value of another.
cat >each.vrt <<'VRT'
<VRTDataset rasterXSize="40" rasterYSize="30">
  <VRTRasterBand dataType="Int16" band="1"><NoDataValue>-9999</NoDataValue>
    <SimpleSource><SourceFilename relativeToVRT="1">small.img</SourceFilename><SourceBand>1</SourceBand></SimpleSource>
  </VRTRasterBand>
  <VRTRasterBand dataType="Int16" band="2"><NoDataValue>100</NoDataValue>
    <SimpleSource><SourceFilename relativeToVRT="1">small.img</SourceFilename><SourceBand>2</SourceBand></SimpleSource>
  </VRTRasterBand>
</VRTDataset>
VRT
makes float32 -9999 each.vrt
makes int16 -9999 each.vrt --source-nodata -9999

# Every value of the types, as data, and with one of them as nodata.
printf "$(awk 'BEGIN { for (v = 0; v < 65536; v++) printf "\\%03o\\%03o", v % 256, v / 256 }')" >all.img
for type in 1:uint8:512:200 2:int16:256:-32768 12:uint16:256:777; do
    IFS=: read -r code name samples nodata <<<"$type"
    header all "$samples" 256 1 "$code" bsq
    makes "$name" "" all.img
    cmp all.img made.img
    makes "$name" "$nodata" all.img --source-nodata "$nodata"
    cmp all.img made.img
done

# Words of the user, and what a format or option cannot take.
run 0 write whole.img other.tif --type float32 --overwrite
is other.tif float32 nan
run 0 write whole.img other.tif --scale 2 --overwrite
is other.tif float32 nan
run 0 write small.img other.tif --compress deflate --co PREDICTOR=3 --overwrite
is other.tif float32 -9999
run 0 write whole.img scaled.img --type int16 --scale 0.5
makes float32 nan scaled.img --source-scale apply --source-nodata none
makes int16 "" scaled.img --source-nodata none
cmp scaled.img made.img
[[ $out == *"scale        5e-05"* ]] || fail "the scale is lost: $out"

# Blocks are float32: wider types become that, with a note.
header wide 2 1 1 3 bsq
printf '\001\000\000\001\002\000\000\000' >wide.img
run 0 write wide.img made.tif --overwrite
[[ $err == *"made.tif: values of int32 become float32"*"16777216"* ]] ||
    fail "no note: $err"
is made.tif float32 nan
run 0 write wide.img made.tif --type int32 --overwrite
[[ $err == *"values of int32 become float32"* ]] || fail "no note: $err"
for type in 5:float64 13:uint32 14:int64 15:uint64; do
    header wide 1 1 1 "${type%:*}" bsq
    printf '\001\000\000\000\000\000\000\000' >wide.img
    run 0 write wide.img made.tif --overwrite
    [[ $err == *"values of ${type#*:} become float32"* ]] || fail "$type: no note: $err"
    is made.tif float32 nan
done
rm -f -- *

# What keeps values is known of each stage: sinks and bands, and nothing else.
check() {
    run 0 run read int.img ! "$@" ! write out.img --overwrite
    run 0 info out.img
    case $1 in
    bands | cov | noise | dimension | endmembers | extract)
        [[ $out == *" bands of uint16"$'\n'* ]] || fail "$*: writes no uint16: $out"
        [[ $1 == bands ]] || cmp int.img out.img
        ;;
    *) [[ $out != *" bands of uint16"$'\n'* ]] || fail "$*: writes uint16" ;;
    esac
}
make_chain_inputs
run 0 run read "$scene" --window 0,0,48,40 ! write int.img
each_chain check
check bands 5,1-3
for band in 5 1 2 3; do
    dd if=int.img bs=$((48 * 40 * 2)) skip=$((band - 1)) count=1 status=none
done | cmp - out.img
run 0 run read int.img ! preview p.png ! figure f.png ! write out.img --overwrite
cmp int.img out.img

# Noise of a scene without nodata has none at the border: integers need a nodata value there.
run 0 run "${read[@]}" --source-nodata none ! bands 1-2 ! filter mean3x3 --noise ! write noise.img --type int16
is noise.img int16 -32768
[[ $(od -An -td2 -N 4 noise.img) == *-32768*-32768* ]] || fail "the border is $(od -An -td2 -N 4 noise.img)"
