# On a file system whose rename cannot refuse to replace (RENAME_NOREPLACE), and on one without hard links: the same
# outputs and claims, nothing replaced, nothing left (no_replace.c).
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
line=$((100 * 64 * 2)) # bytes of a line of the sample scene
mkdir in expected
for s in 1 2 3 4; do
    sed 's/^lines *=.*/lines = 20/; s/^map info.*//; s/^coordinate system.*//' "$scene" >in/s$s.hdr
    dd if="$SAMPLE/scene.img" of=in/s$s.img bs=$line skip=$((s * 10)) count=20 status=none
done
batch=(batch mnf --components 3 ! preview 'out/{stem}.png' --bands 1,2,3 ! write --scenes in --output 'out/{stem}.img' --device cpu)
run 0 "${batch[@]}"
names=()
for s in 1 2 3 4; do
    for ending in img hdr png; do
        mv out/s$s.$ending expected/
    done
    names+=(s$s.{img,hdr,png,img.hcube.json,png.hcube.json})
done
rm -r out

# finished: outputs as on other file systems, and nothing else.
finished() {
    local file
    (cd out && only "${names[@]}")
    for file in expected/*; do
        cmp "$file" "out/${file#expected/}"
    done
}
# refused CALL: how often that call was refused since the last question.
refused() {
    grep -c "^$1$" refused.log || true
    rm -f refused.log
}
# claim_far AGE: the claim of another host on scene 2, whose last sign of life is so old.
claim_far() {
    printf 'hcube claim\nhost far\nboot 0-0\nprocesses pid:[1]\nowner 1 1\nparent 0 0\nnumber 1\n' >out/.s2.img.hcube-claim
    touch -d "$1" out/.s2.img.hcube-claim
}

export HCUBE_NO_REPLACE_LOG=refused.log
plain=$HCUBE
# What each file system lacks: the answer to RENAME_NOREPLACE, and to a link.
for lacks in "EINVAL -" "ENOSYS EPERM" "EINVAL EOPNOTSUPP"; do
    read -r rename links <<<"$lacks"
    export HCUBE_NO_REPLACE=$rename HCUBE_NO_LINKS=$links
    hcube_here() {
        LD_PRELOAD=$MODULES/no_replace.so "$plain" "$@"
    }
    HCUBE=hcube_here

    # One worker, then three that share the list: each scene is done once.
    run 0 "${batch[@]}"
    finished
    [[ $links == - || $(refused link) -gt 0 ]] || fail "$lacks: no link was refused"
    rm -rf out refused.log
    for w in 1 2 3; do
        hcube_here "${batch[@]}" --jobs 1 --progress json 2>"w$w.log" &
        workers[w]=$!
    done
    for w in 1 2 3; do
        wait "${workers[w]}" || fail "$lacks: worker $w: $(cat w$w.log)"
    done
    [[ $(cat w?.log | grep -c '"event":"done"') == 4 ]] || fail "$lacks: scenes were done twice: $(cat w?.log)"
    finished

    # A claim of another host holds for some minutes, and is taken over then.
    rm out/s2.*
    claim_far '1 minute ago'
    run 0 "${batch[@]}"
    [[ ! -e out/s2.img && $err == *"1 with another worker"* ]] || fail "$lacks: says $err"
    claim_far '10 minutes ago'
    run 0 "${batch[@]}"
    finished
    # One that is dated in the future too, by the time of its status, which nobody can set.
    rm out/s2.*
    claim_far 'next year'
    run 0 "${batch[@]}"
    [[ ! -e out/s2.img && $err == *"1 with another worker"* ]] || fail "$lacks: says $err"
    run 0 batch --status "${batch[@]:1}"
    [[ $out == *" 1 running, 0 left"* ]] || fail "$lacks: says $out"
    export HCUBE_STATUS_AGE=600
    run 0 batch --status "${batch[@]:1}"
    [[ $out == *" 0 running, 1 interrupted, 0 left"* ]] || fail "$lacks: says $out"
    run 0 "${batch[@]}"
    unset HCUBE_STATUS_AGE
    finished

    # A run gives its outputs their names, and replaces nothing.
    rm -f refused.log
    run 0 bands in/s1.hdr 1-2 one.img --device cpu
    [[ $links == - || $(refused renameat2) -gt 0 ]] || fail "$lacks: no rename was refused"
    before=$(stat -c '%i %y' one.img)
    refuse 2 "one.img: the file exists already" bands in/s1.hdr 3 one.img --device cpu
    [[ $(stat -c '%i %y' one.img) == "$before" ]] || fail "$lacks: one.img was replaced"
    run 0 bands in/s1.hdr 3 one.img --device cpu --overwrite
    [[ -z $(find . -name '.*.partial') ]] || fail "$lacks: left $(find . -name '.*.partial')"
    HCUBE=$plain
    rm -rf out one.* refused.log
done

# A name that another program has taken at the last moment is not replaced, also where only the existence of a file can be
# asked for: the run pauses in front of its first link, and the file is made then.
for lacks in "EINVAL -" "EINVAL EPERM"; do
    read -r HCUBE_NO_REPLACE HCUBE_NO_LINKS <<<"$lacks"
    export HCUBE_NO_REPLACE HCUBE_NO_LINKS
    mkdir late && mkfifo events events.1
    exec 8<>events 9<>events.1
    status=0
    HCUBE_PAUSE=events HCUBE_PAUSE_AT='link *late/s.img' LD_PRELOAD="$MODULES/pause_at.so $MODULES/no_replace.so" \
        "$plain" bands in/s1.hdr 1-2 late/s.img --device cpu 2>log.txt &
    process=$!
    read -r _ <&8
    echo taken >late/s.img
    echo "as often as it pauses" >&9
    wait $process || status=$?
    [[ $status == 2 && $(cat late/s.img) == taken ]] || fail "$lacks: exit code $status: $(cat log.txt) $(head -c 20 late/s.img)"
    [[ ! -e late/s.hdr && -z $(find late -name '.*.partial') ]] || fail "$lacks: left $(entries)"
    exec 8>&- 9>&-
    rm -r events events.1 late
done
