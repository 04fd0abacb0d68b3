# What is written as Zarr is read back with its wavelengths, bad bands, names and place. --overwrite replaces a Zarr whole,
# or not at all; without it, and where something else has the name, nothing is replaced.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
if ! gdalmdiminfo --formats | grep -w Zarr >/dev/null; then
    echo "GDAL has no driver for Zarr"
    exit 77
fi
run 0 run read "$scene" --all-bands ! write w.zarr
run 0 read w.zarr w.img --all-bands
run 0 read "$scene" e.img --all-bands
cmp w.img e.img || fail "other values are read back"
diff <("$HCUBE" info w.img | sed 1d) <("$HCUBE" info e.img | sed "1d; /^colours/d") || fail "other facts are read back"
run 0 run read "$scene" ! pca --components 3 ! write p.zarr --co COMPRESS=GZIP
run 0 read p.zarr p.img
run 0 run read "$scene" ! pca --components 3 ! write q.img
cmp p.img q.img || fail "other components are read back"
# xarray opens none of a store where one array does not name its axes, be there any or not.
for array in w.zarr/*/; do
    [[ $(tr -d '\t\n ' <"$array.zattrs") == *'"_ARRAY_DIMENSIONS":['* ]] || fail "$array does not name its axes"
done
[[ $(tr -d '\t\n ' <w.zarr/crs/.zattrs) == *'"_ARRAY_DIMENSIONS":[],'* ]] || fail "crs has axes"
mkdir other.zarr && echo mine >other.zarr/notes
refuse 4 "other.zarr: is a directory" read "$scene" other.zarr --overwrite
refuse 2 "w.zarr: the file exists already (--overwrite replaces it)" read "$scene" w.zarr
refuse 4 "w.zarr: is a directory with Zarr, and GTiff is a file" write "$scene" w.zarr --format GTiff --overwrite
refuse 2 "w.zarr: would replace this file, which is read" read w.zarr w.zarr --overwrite
refuse 2 "w.zarr: would replace w.zarr/scene, which is read" read w.zarr/scene w.zarr --overwrite
ln -s w.zarr link.zarr
refuse 4 "link.zarr: is a directory" read "$scene" link.zarr --overwrite
mkdir set && echo text >set/p.zarr
run 0 run --overwrite read "$scene" ! pca --components 3 ! write set/p.zarr --co COMPRESS=GZIP # over a file
diff -r p.zarr set/p.zarr || fail "other bytes by another run"
run 0 run --overwrite read "$scene" ! pca --components 2 ! write set/p.zarr
run 0 info set/p.zarr
[[ $out == *"samples x 2 bands"* ]] || fail "not replaced: $out"
[[ $(cd set && echo .[!.]* *) == ".[!.]* p.zarr p.zarr.hcube.json" ]] || fail "left behind: $(ls -A set)"

# What `info` and records say of its size, and what rerun compares.
bytes=$(find w.zarr -type f -printf '%s\n' | paste -sd+ | bc)
[[ $(tr -d '\t\n ' <w.zarr.hcube.json) == *"\"file\":\"w.zarr\",\"bytes\":$bytes,"* ]] || fail "the record lacks $bytes bytes"
run 0 info w.zarr --json
[[ $(tr -d '\t ' <<<"$out") == *"\"bytes\":$(find w.zarr/scene -type f -printf '%s\n' | paste -sd+ | bc),"* ]] || fail "info: $out"
run 0 rerun w.zarr.hcube.json --check
[[ $out == *"w.zarr: the same, $bytes bytes"* ]] || fail "rerun: $out"
printf ' ' >>w.zarr/scene/.zattrs
run 1 rerun w.zarr.hcube.json --check
[[ $out == *"w.zarr: differs, $((bytes + 1)) bytes and now $bytes"* ]] || fail "rerun: $out"

# A batch knows its outputs and inputs again.
ran() {
    "$HCUBE" batch --scenes "$1" --output "$2" ! read ! write >said 2>&1 || fail "$(cat said)"
    grep -q "$3 done, $4 complete before" said || fail "not $3 done: $(cat said)"
}
mkdir in && cp "$SAMPLE"/scene.* in
ran in 'made/{stem}.zarr' 1 0
ran in 'made/{stem}.zarr' 0 1
rm made/scene.zarr/scene/0.0.0
ran in 'made/{stem}.zarr' 1 0
ran 'made/*.zarr' 'again/{stem}.tif' 1 0
ran 'made/*.zarr' 'again/{stem}.tif' 0 1
ran made/scene.zarr 'again/{stem}.tif' 0 1 # one scene, and no folder of some
touch -d 2030-01-01 made/scene.zarr/scene/0.0.0
ran 'made/*.zarr' 'again/{stem}.tif' 1 0
refuse 6 "c.zarr: Zarr cannot hold a class map" plan run read "$SAMPLE/class.hdr" ! write c.zarr
refuse 6 "c.zarr: FORMAT=ZARR_V3 has no effect here ... version 2" plan run read "$scene" ! write c.zarr --co FORMAT=ZARR_V3
refuse 6 "c.zarr: Zarr is a folder" plan run read "$scene" ! write s3://bucket/c.zarr
[[ ! -e c.zarr ]] || fail "what is refused has its name"

# The STAC item of a Zarr: its size, no checksum, and a scene for a batch.
mkdir item && run 0 write "$scene" item/z.zarr --stac
text=$(tr -d '\t\n ' <item/z.zarr.stac.json)
bytes=$(find item/z.zarr -type f -printf '%s\n' | paste -sd+ | bc)
[[ $text == *"\"href\":\"./z.zarr\",\"type\":\"application/vnd.zarr;version=2\",\"roles\":[\"data\"],\"file:size\":$bytes,\"raster:"* ]] ||
    fail "the item: ${text:0:1500}"
ran item/z.zarr.stac.json 'of/{item}.tif' 1 0
[[ -e of/z.tif ]] || fail "another name: $(ls of)"

# Each rename of a run in its turn fails, with another Zarr there: all is as it was. A file system that cannot exchange two
# names has neither for a moment, but the same in the end.
! sanitized || exit 77
chain() {
    chain=(run --device cpu --threads 1 --quiet --overwrite read "$scene" ! pca --components "$1" ! write a.zarr ! write a.tif)
}
mkdir old
chain 2
(cd old && run 0 "${chain[@]}")
chain 3
undone=0
for turn in {1..8}; do
    status=0
    rm -rf try && cp -a old try
    (cd try && LD_PRELOAD=$MODULES/fail_at.so HCUBE_FAIL=rename:EINVAL HCUBE_FAIL_AT=$turn exec "$HCUBE" "${chain[@]}") \
        2>err.txt || status=$?
    ((status == 0 || status == 4)) || fail "exit code $status when rename $turn fails: $(cat err.txt)"
    if ((status == 4)); then
        undone=$((undone + 1))
        diff -r old try || fail "not as it was after rename $turn failed"
    else
        run 0 info try/a.zarr
        [[ $out == *"x 3 bands"* && $(ls -A try) == $(ls -A old) ]] || fail "not replaced when rename $turn fails: $(ls -A try)"
    fi
done
((undone >= 3)) || fail "only $undone renames were found"

# A run that is killed in front of each of its changes: the name has the old Zarr or the new one, whole.
(rm -rf new && mkdir new && cd new && run 0 "${chain[@]}")
both=0
for kill in {1..400}; do
    rm -rf try && cp -a old try
    status=0
    said=$(cd try && HCUBE_KILL_AT=$kill LD_PRELOAD=$MODULES/kill_at.so exec "$HCUBE" "${chain[@]}" 2>&1) || status=$?
    ((status == 137)) || break
    if diff -rq new/a.zarr try/a.zarr >/dev/null; then
        both=1
    else
        diff -r old/a.zarr try/a.zarr || fail "neither old nor new after kill $kill"
    fi
done
((status == 0 && kill > 5 && both == 1)) || fail "exit code $status at kill $kill, the new one $both times: $said"
[[ $(ls -A try) == $(ls -A old) ]] || fail "left behind: $(ls -A try)"
