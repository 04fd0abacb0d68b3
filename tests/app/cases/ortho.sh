# Maps by a lookup table larger than memory, and what a failed or interrupted one leaves behind.

# Neither the scene (230 MiB as float32), nor the map (305 MiB), nor the table (11 MiB) fits beside the rest.
header scene 500 1500 80
truncate -s $((500 * 1500 * 80 * 2)) scene.img
header scene_glt 1000 1000 2
head -c $((1000 * 1000 * 2 * 2)) /dev/zero | tr '\0' '\1' >scene_glt.img # all lead to line 257, sample 257
if ! sanitized; then
    run 0 run read scene.hdr ! write map.img --type uint8 --ortho=scene_glt.hdr --memory 140M --device cpu
    [[ $err =~ peak\ memory\ ([0-9]+)\.[0-9]\ MiB ]] || fail "no peak memory in '$err'"
    ((BASH_REMATCH[1] <= 147)) || fail "peak memory ${BASH_REMATCH[1]} MiB of 140"
    [[ $err == *"wrote map.img (1000 lines x 1000 samples x 80 bands)"* ]] || fail "the size of the map: $err"
    [[ $(stat -c %s map.img) == 80000000 ]] || fail "map.img has $(stat -c %s map.img) bytes"
    grep -q '"filled_pixels":.1000000' map.img.hcube.json || fail "the record does not tell of the map"
    rm map.*
fi
only scene.hdr scene.img scene_glt.hdr scene_glt.img
run 0 plan read scene.hdr ! write map.img --ortho=scene_glt.hdr
[[ $out == *"write    float32, 1000 lines x 1000 samples x 80 bands"* ]] || fail "the plan does not tell of the map: $out"

# A full disk: one line, and no temporary file.
size=$((20 << 20))
(ulimit -f $((size / 1024)) && trap '' XFSZ && refuse 4 "a temporary file of 240000000 bytes failed: File too large" \
    run read scene.hdr ! write map.tif --type uint8 --ortho=scene_glt.hdr --memory 200M --device cpu)
only scene.hdr scene.img scene_glt.hdr scene_glt.img

# The option: alone, with a file behind =, and not with a word behind it. Files are not replaced by what is made of them.
refuse 3 "no lookup table and no coordinates" run read scene.hdr ! write map.img --ortho
refuse 2 "one file too many" run read scene.hdr ! write map.img --ortho scene_glt.hdr
refuse 2 "scene_glt.hdr: the chain reads this file" run read scene.hdr ! write scene_glt.hdr --ortho=scene_glt.hdr --overwrite
run 0 stages write
[[ $out == *"--ortho[=FILE]"* ]] || fail "the help of --ortho"
only scene.hdr scene.img scene_glt.hdr scene_glt.img

# An image of AVIRIS-NG leads to its table: for itself, and for a result without one.
mkdir flight
cp "$SAMPLE/scene.img" flight/ang20200101t010101_rdn_img
cp "$SAMPLE/scene.hdr" flight/ang20200101t010101_rdn_img.hdr
cd flight
header ang20200101t010101_rdn_glt 30 20 2 2 bsq
printf '\7\0%.0s' {1..1200} >ang20200101t010101_rdn_glt
cd ..
run 0 run read flight/ang20200101t010101_rdn_img.hdr ! bands 1-2 ! write own.img --ortho --record none
run 0 bands flight/ang20200101t010101_rdn_img.hdr result.img --keep 1-2 --record none
for of in glt img; do
    run 0 write result.img "$of.img" --ortho=flight/ang20200101t010101_rdn_$of.hdr --record none
    cmp own.img "$of.img"
done
[[ $err == *"20 lines x 30 samples x 2 bands"* ]] || fail "says $err"

# A box in map coordinates chooses the rectangle of pixels that show in it: the table is of 4 lines x 6 samples, and its
# pixel (x, y) shows sample x + y and line 2 y.
mkdir -p box
cp "$SAMPLE/scene.img" box/ang20200101t010101_rdn_img
grep -v "^map info" "$SAMPLE/scene.hdr" >box/ang20200101t010101_rdn_img.hdr
header box/ang20200101t010101_rdn_glt 6 4 2 2 bsq
echo 'map info = {UTM, 1, 1, 500000, 5600000, 30, 30, 33, North, WGS-84}' >>box/ang20200101t010101_rdn_glt.hdr
for y in 0 1 2 3; do for x in 0 1 2 3 4 5; do printf "\\x$(printf %02x $((x + y + 1)))\\0"; done; done >box/ang20200101t010101_rdn_glt
for y in 0 1 2 3; do for x in 0 1 2 3 4 5; do printf "\\x$(printf %02x $((2 * y + 1)))\\0"; done; done >>box/ang20200101t010101_rdn_glt
image=box/ang20200101t010101_rdn_img.hdr
run 0 run read $image --bbox 500030,5599910,500090,5599970 ! bands 1-2 ! write cut.img --record none
[[ $err == *"samples 2 to 4 and lines 2 to 4 (from 0) of the file"* ]] || fail "the window of a box by its table: $err"
run 0 run read $image --window 2,2,3,3 ! bands 1-2 ! write same.img --record none
cmp cut.img same.img
run 0 run read $image --bbox 500030,5599910,500090,5599970 ! bands 1-2 ! write cutmap.img --ortho --record none
[[ $err == *"wrote cutmap.img (2 lines x 4 samples x 2 bands)"* ]] || fail "the map of a box: $err"
refuse 3 "the box does not touch the scene" run read $image --bbox 0,0,10,10 ! write no.img
echo '{"type":"Polygon","coordinates":[[[15,50],[15.1,50],[15.1,50.1],[15,50]]]}' >area.geojson
refuse 3 "area.geojson: does not touch the scene" run read $image --cutline area.geojson ! write no.img

# Polygons choose the pixels that the table puts inside: here the four of the box above, of two lines and three samples.
echo '{"type":"Polygon","crs":{"type":"name","properties":{"name":"EPSG:32633"}},"coordinates":[[[500030,5599910],
[500090,5599910],[500090,5599970],[500030,5599970],[500030,5599910]]]}' >four.geojson
header four 3 3 1 1 bsq
printf '\1\1\0\0\0\0\0\1\1' >four
run 0 run read $image --window 2,2,3,3 --mask four ! bands 1-2 ! write same.img --record none --overwrite
run 0 run read $image --cutline four.geojson ! bands 1-2 ! write cut.img --record none --overwrite
[[ $err == *"samples 2 to 4 and lines 2 to 4 (from 0) of the file"* ]] || fail "the window of polygons by a table: $err"
cmp cut.img same.img
run 0 run read $image --window 2,2,3,3 --mask four.geojson ! bands 1-2 ! write cut.img --record none --overwrite
cmp cut.img same.img
printf '\0\0\1\1\1\1\1\0\0' >four
run 0 run read $image --window 2,2,3,3 --mask four ! bands 1-2 ! write same.img --record none --overwrite
run 0 run read $image --window 2,2,3,3 --mask-inside four.geojson ! bands 1-2 ! write cut.img --record none --overwrite
cmp cut.img same.img
sed 's/500090/500031/g' four.geojson >none.geojson
refuse 3 "none.geojson: no pixel ... polygons" run read $image --cutline none.geojson ! write no.img
sed 's/5000/5003/g' four.geojson >none.geojson
refuse 3 "none.geojson: " run read $image --cutline none.geojson ! write no.img

# Training polygons too, where the table leads 20 samples and 20 lines on, to pixels with values: of these two, one holds four
# pixels and one the pixel of sample 25 and line 20.
for y in 0 1 2 3; do for x in 0 1 2 3 4 5; do printf "\\x$(printf %02x $((x + y + 21)))\\0"; done; done >box/ang20200101t010101_rdn_glt
for y in 0 1 2 3; do for x in 0 1 2 3 4 5; do printf "\\x$(printf %02x $((2 * y + 21)))\\0"; done; done >>box/ang20200101t010101_rdn_glt
ring() { echo "[[[$1,$2],[$3,$2],[$3,$4],[$1,$4],[$1,$2]]]"; }
feature() { echo "{\"type\":\"Feature\",\"properties\":{\"kind\":\"$1\"},\"geometry\":{\"type\":\"Polygon\",\"coordinates\":$2}}"; }
echo '{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"EPSG:32633"}},"features":['"$(feature a "$(ring 500030 5599910 500090 5599970)"),$(feature b "$(ring 500150 5599970 500180 5600000)")]}" >two.geojson
run 0 run read $image ! bands 1-3 ! extract twolib.sli --labels two.geojson --each pixel
lines=$(sed -n 's/^lines *= *//p' $image) samples=$(sed -n 's/^samples *= *//p' $image)
header labels "$samples" "$lines" 1 1 bsq
truncate -s $((samples * lines)) labels
for place in "22 22 1" "23 22 1" "23 24 1" "24 24 1" "25 20 2"; do
    read -r sample line kind <<<"$place"
    printf "\\$kind" | dd of=labels bs=1 seek=$((line * samples + sample)) conv=notrunc status=none
done
run 0 run read $image ! bands 1-3 ! extract samelib.sli --labels labels --each pixel
[[ $(stat -c %s twolib.sli) == $((5 * 3 * 4)) ]] || fail "twolib.sli has $(stat -c %s twolib.sli) bytes"
cmp twolib.sli samelib.sli
