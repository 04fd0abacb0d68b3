# A batch that is killed in front of each of its changes to the folders, one after the other: what has its name is whole
# then, and the next batch finishes.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
mkdir in expected
sed 's/^lines *=.*/lines = 20/' "$scene" >in/s.hdr
head -c $((20 * 100 * 64 * 2)) "$SAMPLE/scene.img" >in/s.img

# batch COMPONENTS: ENVI, a picture and a GeoTIFF of the same stem.
batch() {
    local chain=(mnf --components "$1" ! preview 'out/{stem}.png' --bands 1 ! write 'out/{stem}.tif' ! write)
    batch=(batch "${chain[@]}" --scenes in/s.hdr --output 'out/{stem}.img' --device cpu --threads 1 --overwrite)
}
names=()
for file in s.{img,hdr,png,tif}; do
    names+=("$file")
    [[ $file == *.hdr ]] || names+=("$file.hcube.json")
done
for count in 2 3; do
    batch $count
    rm -rf out
    run 0 "${batch[@]}"
    (cd out && only "${names[@]}")
    cp -a out expected/$count
done

# whole: files with their names are those of one of the two chains, and a header is beside its data.
whole() {
    local file count=
    for file in out/s.img out/s.png out/s.tif; do
        [[ ! -e $file ]] || cmp -s "$file" "expected/2/${file#out/}" || cmp -s "$file" "expected/3/${file#out/}" ||
            fail "$file is half done after step $step"
    done
    for file in out/*.json; do
        [[ ! -e $file || $(tail -c 2 "$file") == "}" ]] || fail "$file is half done after step $step"
    done
    # A record says what lies beside it.
    for file in out/s.{img,png,tif}; do
        if [[ -e $file.hcube.json ]]; then
            count=$(grep -q -- '--components 3' "$file.hcube.json" && echo 3 || echo 2)
            cmp -s "$file" "expected/$count/${file#out/}" || fail "a record beside $file is not its own after step $step"
        fi
    done
    if [[ -e out/s.img ]]; then
        count=$(cmp -s out/s.img expected/2/s.img && echo 2 || echo 3)
        cmp -s out/s.hdr "expected/$count/s.hdr" || fail "the header is not that of the data after step $step"
    fi
}

# at_every NUMBER WHAT: every NUMBER steps, in a clean folder (new), or with the outputs of the other chain there (old).
at_every() {
    local file status=137
    for ((step = 1; status == 137; step += $1)); do
        rm -rf out
        [[ $2 == new ]] || cp -a expected/2 out
        HCUBE_KILL_AT=$step LD_PRELOAD=$MODULES/kill_at.so "$HCUBE" "${batch[@]}" >log.txt 2>&1 &
        process=$!
        status=0
        wait $process 2>/dev/null || status=$?
        [[ ! -d out ]] || whole
        [[ $status == 137 || $status == 0 ]] || fail "exit code $status in front of step $step: $(cat log.txt)"
        run 0 "${batch[@]}" --progress json
        (cd out && only "${names[@]}") || fail "left behind after step $step"
        whole
        for file in s.img s.hdr s.tif s.png; do
            cmp out/$file expected/3/$file || fail "$file is not what it should be after step $step"
        done
        # What was complete is not done again.
        [[ $status == 137 || $err == *'"event":"skipped"'* ]] || fail "says $err"
    done
    ((step > 20)) || fail "only $step steps were found"
}
batch 3
at_every 3 new
at_every 1 old
