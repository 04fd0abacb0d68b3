# A batch that is killed, interrupted, or meets a full disk leaves nothing half done, and the next one finishes.
export OMP_WAIT_POLICY=passive
line=$((100 * 64 * 2)) # bytes of a line of the sample scene
mkdir in expected
for s in 1 2 3 4 5 6; do
    sed 's/^lines *=.*/lines = 20/; s/^map info.*//; s/^coordinate system.*//' "$scene" >in/s$s.hdr
    dd if="$SAMPLE/scene.img" of=in/s$s.img bs=$line skip=$((s * 10)) count=20 status=none
done
chain=(mnf --components 3 ! preview 'out/{stem}.png' --bands 1,2,3 ! write)
batch=(batch "${chain[@]}" --scenes in --output 'out/{stem}.img' --device cpu --threads 1)
mkdir -p out
run 0 "${batch[@]}"
for s in 1 2 3 4 5 6; do
    for ending in img hdr png; do
        mv out/s$s.$ending expected/
    done
done
rm -rf out && mkdir out
names=()
for s in 1 2 3 4 5 6; do
    names+=(s$s.{img,hdr,png,img.hcube.json,png.hcube.json})
done

# whole: what has its name is whole.
whole() {
    local file
    for file in out/s?.img out/s?.hdr out/s?.png; do
        [[ ! -e $file ]] || cmp -s "$file" "expected/${file#out/}" || fail "$file is half done after kill $kill"
    done
    for file in out/*.json; do
        [[ ! -e $file || $(tail -c 2 "$file") == "}" ]] || fail "$file is half done after kill $kill"
    done
}
finished() {
    (cd out && only "${names[@]}") || fail "left behind after kill $kill"
    whole
}

# completed: how many scenes have their record.
completed() {
    find out -maxdepth 1 -name 's?.img.hcube.json' | wc -l
}
# finish_batch: the next batch does what is left, and that is right.
finish_batch() {
    left=$((6 - $(completed)))
    run 0 "${batch[@]}" --progress json
    [[ $(grep -c '"event":"done"' <<<"$err" || true) == "$left" ]] || fail "after kill $kill $left scenes were left, and it did: $err"
    finished
    rm -rf out && mkdir out
}

# 50 times at moments of a fixed sequence, with one and with two jobs. How long the moments may be follows the machine:
# shorter after a kill that came too late, longer after one before which nothing was done. What is complete begins anew.
RANDOM=7
longest=250000 # [us]
late=0
amid=0
for ((kill = 0; kill < 50; kill++)); do
    before=$(completed)
    moment=$(((RANDOM * 32768 + RANDOM) % longest))
    "$HCUBE" "${batch[@]}" --jobs $((kill % 2 + 1)) 2>/dev/null &
    process=$!
    sleep "$(printf '%d.%06d' $((moment / 1000000)) $((moment % 1000000)))"
    kill -KILL "$process" 2>/dev/null || true
    status=0
    wait "$process" 2>/dev/null || status=$?
    whole
    if [[ $status != 137 ]]; then
        late=$((late + 1))
        longest=$((longest * 3 / 4))
    elif [[ $(completed) == "$before" ]]; then
        longest=$((longest * 5 / 4))
    else
        amid=$((amid + 1))
    fi
    if ((kill % 5 == 4 || $(completed) == 6)); then
        finish_batch
    fi
done
((late <= 25 && amid >= 6)) || fail "of 50 kills $late came too late, $amid amid the scenes"

# interrupt SIGNAL: ends with 130, leaves no claim and no temporary file; the next batch goes on.
interrupt() {
    rm -rf out && mkdir out
    : >log.txt
    "$HCUBE" "${batch[@]}" --progress json 2>log.txt &
    process=$!
    for ((i = 0; i < 2000; i++)); do
        [[ $(grep -c '"event":"done"' log.txt) == 0 ]] || break
        sleep 0.002
    done
    kill -s "$1" "$process"
    status=0
    wait "$process" || status=$?
    # All may have been done by then.
    [[ $status == 130 && $(tail -n 1 log.txt) == *interrupted* ]] || [[ $status == 0 ]] || fail "exit code $status: $(cat log.txt)"
    [[ -z $(find out -name '.*' ! -name . -print) ]] || fail "left $(find out -name '.*')"
    whole
    run 0 "${batch[@]}"
    finished
}
interrupt INT
interrupt TERM
interrupt HUP

# A process that dies costs the scene that it was at, which is not tried again by itself; the others are done. One job,
# since a machine with many processors takes more by itself. The signal ends it under the sanitizers, too.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0
header large 1000 1500 60
mv large.hdr in/s0.hdr
truncate -s 180000000 in/s0.img
rm -rf out && mkdir out
"$HCUBE" batch filter median3x3 ! filter median3x3 ! bands 1-2 --scenes in --output 'out/{stem}.img' --device cpu --threads 1 --jobs 1 2>log.txt &
process=$!
for ((i = 0; i < 500; i++)); do
    child=$(cat "/proc/$process/task/$process/children" 2>/dev/null || true)
    [[ -z $child || ! -e out/.s1.img.hcube-claim ]] || break # it is at s0, and s1 is ready
    sleep 0.01
done
if [[ $child ]]; then
    kill -SEGV $child
    sleep 0.2
    for ((i = 0; i < 3000; i++)); do
        again=$(cat "/proc/$process/task/$process/children" 2>/dev/null || true)
        [[ -z $again || $again == "$child" || -z $(find out -name ".s0.img.${again% }-*.partial" -print) ]] || break
        ! grep -q 'failed: in/s0' log.txt || break # it had not taken s1 yet: no doubt who was to blame
        sleep 0.01
    done
    grep -q 'failed: in/s0' log.txt || kill -SEGV $again
    status=0
    wait "$process" || status=$?
    [[ $status == 9 && $(grep -c "failed: in/s0.hdr: its process ended" log.txt) == 1 ]] || fail "exit code $status: $(cat log.txt)"
    [[ -z $(find out -name '.*' ! -name . -print) ]] || fail "left $(find out -name '.*')"
    [[ ! -e out/s0.img && -e out/s0.img.hcube-failed.json && -s out/s1.img && -s out/s6.img ]] || fail "did not go on: $(cat log.txt)"
else
    wait "$process" || true # a system that does not tell
fi

# goes_on PROCESS: whether it is there and not dead, waited for by nobody.
goes_on() {
    local state
    state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/${1% }/status" 2>/dev/null) || return 1
    [[ $1 && $state && $state != Z* && $state != X* ]]
}
# end_early SIGNAL: stops in the middle of a long scene; its process ends with it.
end_early() {
    rm -rf out && mkdir out
    "$HCUBE" batch filter median3x3 ! filter median3x3 --scenes in/s0.hdr --output 'out/{stem}.img' --device cpu --threads 1 2>log.txt &
    process=$!
    child=
    for ((i = 0; i < 1000; i++)); do
        child=$(cat "/proc/$process/task/$process/children" 2>/dev/null || true)
        [[ -z $(find out -name '.s0.img.*.partial' -print) ]] || break
        sleep 0.01
    done
    kill -s "$1" "$process"
    status=0
    wait "$process" || status=$?
    for ((i = 0; i < 100; i++)); do
        goes_on "$child" || break
        sleep 0.01
    done
    ! goes_on "$child" || fail "its process went on after SIG$1"
    [[ ! -e out/s0.img ]] || fail "the scene was finished after SIG$1"
}
end_early TERM
[[ $status == 130 && -z $(ls -A out) ]] || fail "exit code $status, left $(ls -A out)"
end_early KILL
rm in/s0.*

# A full disk: here a limit on the size of files, then, where it may be mounted, a small disk.
rm -rf out && mkdir out
status=0
(ulimit -f 4 && exec "$HCUBE" "${batch[@]}" >/dev/null 2>../"${folder##*/}".err) || status=$?
message=$(cat ../"${folder##*/}".err)
rm -f ../"${folder##*/}".err
[[ $status == 9 && $(grep -c "failed: .*out/s[1-6].*: .*File too large" <<<"$message") == 6 ]] || fail "exit code $status: $message"
[[ -z $(ls out) ]] || fail "left $(ls out)"
run 0 "${batch[@]}" # without being told to try again
finished
if mount -t tmpfs -o size=100k tmpfs out 2>/dev/null; then
    status=0
    "$HCUBE" "${batch[@]}" 2>log.txt || status=$?
    kill=full
    whole
    [[ -z $(find out -name '.*.partial' -print) ]] || fail "left $(find out)"
    mount -o remount,size=10m out
    after=0
    "$HCUBE" "${batch[@]}" 2>>log.txt || after=$?
    whole
    left=$(cd out && entries)
    cp -r out copy
    umount out
    [[ $status == 9 && $after == 0 ]] || fail "exit codes $status and $after: $(cat log.txt)"
    grep -q "No space left on device" log.txt || fail "says $(cat log.txt)"
    (cd copy && only "${names[@]}") || fail "left $left"
fi
