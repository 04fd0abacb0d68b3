# All outputs of a run get their names together with its records, or none does.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
# A record that is larger than files may be: the raster, which is smaller, has no name either.
header small 20 20 2 1 bsq
head -c 800 /dev/urandom >small.img
status=0
(ulimit -f 1 && exec "$HCUBE" write small.hdr out.img --type uint8 --device cpu --quiet 2>../"${folder##*/}".err) || status=$?
message=$(cat ../"${folder##*/}".err)
rm -f ../"${folder##*/}".err
[[ $status == 4 && $message == *out.img.hcube.json* ]] || fail "exit code $status: $message"
only small.hdr small.img

# chain COMPONENTS: a model, two pictures, ENVI and GeoTIFF.
chain() {
    chain=(run --device cpu --threads 1 --quiet --overwrite read "$scene" ! mnf --components "$1" --save-model m.json
        ! preview p.png --scree e.png --bands 1 ! write a.img ! write a.tif)
}
names=(a.img a.hdr a.img.hcube.json a.tif a.tif.hcube.json p.png p.png.hcube.json e.png m.json m.json.hcube.json)
mkdir old
chain 2
(cd old && run 0 "${chain[@]}" && only "${names[@]}")
chain 3
# fail_at.c takes the place of malloc, which the sanitizers do as well.
! sanitized || exit 77
# fail_each KIND: each rename in its turn fails, in a clean folder (new), or with outputs of another chain there (old).
fail_each() {
    local status=4 turn file
    for ((turn = 1; status == 4; turn++)); do
        rm -rf try && mkdir try
        [[ $1 == new ]] || cp -a old/. try
        status=0
        (cd try && LD_PRELOAD=$MODULES/fail_at.so HCUBE_FAIL=rename:EIO HCUBE_FAIL_AT=$turn exec "$HCUBE" "${chain[@]}") \
            2>err.txt || status=$?
        if [[ $status == 0 ]]; then
            (cd try && only "${names[@]}")
        elif [[ $status != 4 ]]; then
            fail "exit code $status when rename $turn fails: $(cat err.txt)"
        elif [[ $1 == new ]]; then
            (cd try && only) || fail "left behind after rename $turn failed"
        else
            diff -r old try || fail "not as it was after rename $turn failed"
        fi
    done
    ((turn > 7)) || fail "only $turn renames were found"
}
fail_each new
fail_each old
