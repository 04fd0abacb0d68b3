# The masks that GDAL knows of a file: of the dataset, of a band, beside it (.msk), alpha, NODATA_VALUES. They are applied
# like nodata, whichever way the values are read.
header scene 5 6 3 2 bsq
header mask 5 6 1 1 bsq
python3 - <<'WRITE'
import struct
values = [[100 * b + p for p in range(30)] for b in range(3)]
open("scene.img", "wb").write(struct.pack("<90h", *[v for band in values for v in band]))
open("mask.img", "wb").write(bytes(0 if p < 5 else 255 for p in range(30)))
WRITE

source_of() { # FILE BAND
    echo "<SimpleSource><SourceFilename relativeToVRT=\"1\">$1</SourceFilename><SourceBand>$2</SourceBand></SimpleSource>"
}
mask_band="<MaskBand><VRTRasterBand dataType=\"Byte\">$(source_of mask.img 1)</VRTRasterBand></MaskBand>"
# vrt NAME WHOLE EACH FIRST MORE: text of the dataset, in each band, in band 1 alone, further bands.
vrt() {
    {
        echo "<VRTDataset rasterXSize=\"5\" rasterYSize=\"6\">$2"
        for b in 1 2 3; do
            echo "<VRTRasterBand dataType=\"Int16\" band=\"$b\">$3$([[ $b != 1 ]] || echo "$4")$(source_of scene.img $b)</VRTRasterBand>"
        done
        echo "$5</VRTDataset>"
    } >"$1"
}
vrt dataset.vrt "$mask_band" "" "" ""
vrt band.vrt "" "" "$mask_band" ""
vrt bands.vrt "" "$mask_band" "" ""
vrt alpha.vrt "" "" "" "<VRTRasterBand dataType=\"Int16\" band=\"4\"><ColorInterp>Alpha</ColorInterp>$(source_of mask.img 1)</VRTRasterBand>"
vrt values.vrt '<Metadata><MDI key="NODATA_VALUES">3 103 203</MDI></Metadata>' "" "" ""
vrt nodata.vrt "$mask_band" "<NoDataValue>-9</NoDataValue>" "" ""
# Beside a file that is read directly, and one of tiles.
for name in beside tiles; do
    cp scene.img $name.img
    sed 's/scene/'$name'/' scene.hdr >$name.hdr
done
run 0 read tiles.hdr tiles.tif --compress deflate --type int16 --record none
for file in beside.img tiles.tif; do
    {
        echo '<VRTDataset rasterXSize="5" rasterYSize="6"><Metadata><MDI key="INTERNAL_MASK_FLAGS_1">2</MDI></Metadata>'
        echo "<VRTRasterBand dataType=\"Byte\" band=\"1\">$(source_of mask.img 1)</VRTRasterBand></VRTDataset>"
    } >$file.msk
done
# masked FILE COUNT WHAT WORD...: COUNT pixels are left out, in statistics and output, and the file says by what.
masked() {
    rm -f all.* out.*
    run 0 run read "$1" "${@:4}" ! cov s.json --overwrite ! write out.img --type int16 --nodata -7 --overwrite --record none
    [[ $err == *"masked: $2 of 30"*"($2 by the mask, 0 nodata, 0 not finite)"* ]] || fail "$1: $err"
    grep -q "\"pixels\":[[:space:]]*$((30 - $2))[^0-9]" s.json || fail "$1: $(grep pixels s.json)"
    run 0 info "$1"
    [[ $out == *$'\nmask         '"$3 (left out; --ignore-mask keeps it)"* ]] || fail "info $1: $out"
    run 0 info "$1" --json
    [[ $(tr -d '\n\t' <<<"$out") == *"\"mask\":\"$3\""* ]] || fail "info --json $1: $out"
    run 0 run read "$1" --ignore-mask ! write all.img --overwrite --record none
    [[ $err != *masked* ]] || fail "$1 --ignore-mask: $err"
}
masked dataset.vrt 5 "mask band"
masked band.vrt 5 "mask band"
masked bands.vrt 5 "mask band"
masked alpha.vrt 5 "alpha band 4"
masked values.vrt 1 "NODATA_VALUES"
masked nodata.vrt 5 "mask band"
masked beside.img 5 "mask band"
run 0 info beside.img
[[ $out == *"read: direct)"* ]] || fail "a file with a mask beside it is not read directly: $out"
masked tiles.tif 5 "mask band"
masked tiles.tif 5 "mask band" --no-direct
# A part of the scene has that part of the mask; a band that is not read masks nothing.
rm out.*
run 0 run read dataset.vrt --window 1,0,3,2 ! write out.img --overwrite --record none
[[ $err == *"masked: 3 of 6"*"(3 by the mask"* ]] || fail "window: $err"
# A mask, a class map and a training map with a mask of their own count where that is not 0.
run 0 run read scene.hdr --mask dataset.vrt:1=0-1000 ! write out.img --overwrite --record none
[[ $err == *"masked: 25 of 30 pixels"* ]] || fail "--mask: $err"
# The quick picture leaves them out, too; its statistics do.
image() { grep -o 'base64,[^"]*' "$1"; }
run 0 info dataset.vrt --look masked.svg
run 0 info scene.hdr --look whole.svg
[[ $(image masked.svg) != $(image whole.svg) ]] || fail "the picture shows what the mask leaves out"
run 0 info dataset.vrt --stats
[[ $out == *"16.7"* ]] || fail "statistics of a file with a mask: $out"
# Files without one are read as they were.
run 0 info scene.hdr
[[ $out != *$'\nmask '* ]] || fail "a mask was invented: $out"
