# Products: a text beside a raster describes it; what is wrong with one is a line and no output.

run 0 run "read $scene ! bands 1-3 ! write cube.tif --nodata -1" --quiet --record none

item() {
    printf '{"type": "Feature", "stac_version": "1.0.0", "id": "x1", "properties": {"platform": "p1"},\n'
    printf '"assets": {"cube": {"href": "cube.tif", "eo:bands": [%s]}}}\n' "$1"
}
band() {
    printf '{"center_wavelength": %s, "full_width_half_max": 0.01}' "$1"
}

item "$(band 0.41), $(band 0.52), $(band 0.63)" >cube.json
for path in cube.tif cube.json; do
    run 0 info "$path"
    [[ $out == *"product      STAC item x1 (p1)"* && $out == *"410.00 to 630.00 nm, widths given"* ]] ||
        fail "info $path does not show the product"
    run 0 run "read $path ! write ${path#*.}.img" --quiet --record none
done
cmp tif.img json.img || fail "the item and its raster are not the same scene"
run 0 info --json cube.json
[[ $out == *'"product"'*'"STAC item x1 (p1)"'* ]] || fail "the JSON does not show the product"

# The item was opened: its flaw is an error. The raster was opened: it is a remark.
item "$(band 0.41), {}, $(band 0.63)" >cube.json
refuse 3 "band 2 has no center_wavelength" run "read cube.json ! write out.img"
run 0 info cube.tif
[[ $out == *"its metadata are left out: "*"band 2 has no center_wavelength"* && $out != *"product "* ]] ||
    fail "info does not say what is left out"
item "$(band 0.41)" >cube.json
refuse 3 "has 3 bands, its metadata describe 1" run "read cube.json ! write out.img"
[[ ! -e out.img ]] || fail "something was written"

# A folder holds one product, or is refused with what it holds.
item "$(band 0.41), $(band 0.52), $(band 0.63)" >cube.json
mkdir one && cp cube.tif cube.json one
run 0 run "read one ! write folder.img" --quiet --record none
cmp tif.img folder.img || fail "the folder is not the same scene"
if command -v zip >/dev/null; then # the end of a short, packed text shows late
    printf 'a a a a a a a a a a a a a a a' >one/README.txt
    (cd one && zip -q ../one.zip *)
    run 0 run "read one.zip ! write zipped.img" --quiet --record none
    cmp tif.img zipped.img || fail "the archive is not the same scene"
fi
cp cube.json one/other.json
refuse 3 "holds 2 products, open one of them" info one
mkdir none && cp "$scene" none/notes.txt
refuse 3 "none: contains no known product: notes.txt" info none
printf 'PK\3\4 and no more' >cut.zip
refuse 3 "cut.zip: an archive ... cannot be read" info cut.zip
refuse 2 "overlap" run "read one --overlap nir ! write out.img"

# A batch takes a text that describes a product for a scene, and another text for a list.
run 0 batch write --scenes cube.json --output 'batch_{stem}.img'
run 0 batch write --scenes cube.json "$scene" --output 'both_{stem}.img' # beside another scene, it is one still
[[ -e both_cube.img && -e both_scene.img ]] || fail "made $(ls both*)"
rm both_*
cmp batch_cube.img tif.img || fail "the batch of an item is not the scene"
echo cube.tif >list.json
run 0 batch write --scenes list.json --output 'listed_{stem}.img'
cmp listed_cube.img tif.img || fail "the list in a .json is not read"
item "$(band 0.41), {}, $(band 0.63)" >cube.json
run 9 batch write --scenes cube.json --output 'flawed_{stem}.img'
[[ $err == *"band 2 has no center_wavelength"* && ! -e flawed_cube.img ]] || fail "the flaw of the item is not told"

# Quality layers: left out by themselves, by name, or not at all; the record has the pixels of each.
emit=$SAMPLE/EMIT_L2A_RFL_001_20240501T101010_2412207_001.nc
run 0 info "$emit"
if [[ $out == *"quality "* ]]; then # GDAL has netCDF
    run 0 run "read $emit --mask water ! write masked.img"
    [[ $(tr -d ' \t\n' <masked.img.hcube.json) == *'"option":"--mask","value":"water","pixels":205'*'"value":"cloud","pixels":109'* ]] ||
        fail "the record has not the pixels of each mask"
    run 0 run "read $emit --quality none ! write all.img" --quiet
    [[ $(<all.img.hcube.json) != *'"masks"'* ]] || fail "--quality none has masks"
    refuse 2 "is a quality layer" run "read $emit --mask-inside water ! write x.img"
    refuse 2 "quality" run "read $emit --quality some ! write x.img"
    # Version 2 has names without orbit, and masks of another version: they are found by the time stamp.
    mkdir new alone
    cp "$emit" new/EMIT_L2A_RFL_002_20240501T101010.nc
    cp "${emit/_RFL_/_MASK_}" new/EMIT_L2A_MASK_003_20240501T101010.nc
    cp "$emit" alone/EMIT_L2A_RFL_002_20240501T101011.nc
    run 0 run "read $emit ! write first.img" --quiet
    run 0 run "read new/EMIT_L2A_RFL_002_20240501T101010.nc --quality require ! write second.img" --quiet
    cmp first.img second.img || fail "the same masks of another version leave other pixels out"
    refuse 3 "--quality require: no quality layer" \
        run "read alone/EMIT_L2A_RFL_002_20240501T101011.nc --quality require ! write x.img"
    refuse 3 "--quality require: no quality layer" run "read $scene --quality require ! write x.img"
    run 0 batch bands 1 --scenes new/*_RFL_* alone/* --output 'night_{stem}.img'
    [[ $err == *"without quality layers: 1 scene (--quality require"* ]] || fail "not counted: $err"
    run 0 batch bands 1 --scenes new/*_RFL_* alone/* --output 'json_{stem}.img' --progress json
    [[ $out$err == *'"without_quality_layers":1,"without_metadata":0'* ]] || fail "not in the JSON: $out$err"
    run 0 batch read --quality none ! bands 1 --scenes new/*_RFL_* alone/* --output 'none_{stem}.img'
    [[ $err != *"without quality layers"* ]] || fail "counted although they are switched off: $err"
    [[ ! -e x.img ]] || fail "something was written"
    run 0 info "${emit/_RFL_/_MASK_}"
    [[ $out == *"EMIT L2A mask"* && $out == *"8 bands of float32"* && $out != *"quality "* ]] || fail "the masks are no scene"
    run 0 run "read ${emit/_RFL_/_MASK_} ! write --ortho mask.tif" --quiet
    run 0 run "read $emit --quality none ! write --ortho map.tif" --quiet
    run 0 info mask.tif
    place=$(grep '^place' <<<"$out")
    run 0 info map.tif
    [[ $(grep '^place' <<<"$out") == "$place" ]] || fail "the map of the masks lies elsewhere than that of the reflectance"
fi
