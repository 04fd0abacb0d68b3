# A batch that is killed, interrupted, or meets a full disk leaves nothing half done, and the next one finishes. What
# happens when is decided by calls of the batch (kill_at.so, pause_at.so) and never by the clock.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
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

# open_scenes: the numbers of the scenes without a record.
open_scenes() {
    local s
    for s in 1 2 3 4 5 6; do
        [[ -e out/s$s.img.hcube.json ]] || echo $s
    done
}
# finish_batch: the next batch does what is left, and that is right.
finish_batch() {
    left=$(open_scenes | wc -l)
    run 0 "${batch[@]}" --progress json
    [[ $(grep -c '"event":"done"' <<<"$err" || true) == "$left" ]] || fail "after kill $kill $left scenes were left, and it did: $err"
    finished
    rm -rf out && mkdir out
}

# 50 times in front of a change to the files of an open scene, drawn by a fixed sequence, with one and with two jobs.
# Five kills in a row hit the same batch. The substitution ends when the workers have.
RANDOM=7
for ((kill = 0; kill < 50; kill++)); do
    mapfile -t open < <(open_scenes)
    target=${open[RANDOM % ${#open[@]}]-}
    step=$((RANDOM % 30 + 1))
    if [[ $target ]]; then
        status=0
        said=$(HCUBE_KILL_NAME=s$target. HCUBE_KILL_AT=$step HCUBE_KILL_WRITES=1 LD_PRELOAD=$MODULES/kill_at.so \
            "$HCUBE" "${batch[@]}" --jobs $((kill % 2 + 1)) 2>&1) || status=$?
        [[ $status == 137 ]] || fail "kill $kill at change $step of scene $target: exit code $status: $said"
        whole
    fi
    if ((kill % 5 == 4)); then
        finish_batch
    fi
done

# In front of each change to the files of a scene, whose data are away for the next batch, which cannot know all outputs.
# Then the disk is full. The batch after these still takes outputs of the dead owner for its own.
rm -rf out && mkdir out
for ((kill = 1; ; kill++)); do
    status=0
    said=$(HCUBE_KILL_NAME=s2. HCUBE_KILL_AT=$kill HCUBE_KILL_WRITES=1 LD_PRELOAD=$MODULES/kill_at.so \
        "$HCUBE" "${batch[@]}" --jobs 1 2>&1) || status=$?
    [[ $status == 137 ]] || break
    mv in/s2.img away.img
    run 9 "${batch[@]}"
    run 10 "${batch[@]}"
    mv away.img in/s2.img
    full=0
    (ulimit -f 4 && exec "$HCUBE" "${batch[@]}" >/dev/null 2>&1) || full=$?
    [[ $full == 9 || -e out/s2.img.hcube.json ]] || fail "exit code $full on a full disk after kill $kill"
    run 0 "${batch[@]}"
    finished
    rm -rf out && mkdir out
done
((status == 0 && kill > 30)) || fail "exit code $status after kill $kill: $said"

. "$here/pause.sh"
hidden() {
    find out -name '.*' ! -name . -print
}

# interrupt SIGNAL: while the worker claims scene 3. It ends with 130, begins no other scene, leaves no claim and no
# temporary file; the next batch goes on.
interrupt() {
    kill=$1
    rm -rf out && mkdir out
    begin 'link *.s3.img.hcube-claim;kill 15' "${batch[@]}" --jobs 1 --progress json
    next 1
    kill -s "$1" "$process"
    next 2 # it has passed the signal on to the worker
    go_on 2
    go_on 1
    ended 130
    [[ $(tail -n 1 log.txt) == *interrupted* ]] || fail "says $(cat log.txt)"
    [[ -z $(hidden) ]] || fail "left $(hidden)"
    [[ -e out/s1.img && ! -e out/s3.img && ! -e out/s4.img ]] || fail "has done $(ls out)"
    whole
    run 0 "${batch[@]}"
    finished
}
interrupt INT
interrupt TERM
interrupt HUP

# The owner of a scene dies, and another worker takes it over that has looked at the folders before. These are large, so
# that they are not looked at each time; what was left in them goes all the same.
kill=TAKEN
rm -rf out && mkdir out previews
seq -f 'previews/other%g' 5000 | xargs touch
begin 'link *.s2.img.hcube-claim' "${batch[@]/out\/{stem\}.png/previews/{stem\}.png}" --jobs 1
next 1
printf 'hcube claim\nhost %s\nboot %s\nprocesses %s\nowner 4194304 5\nparent 0 0\nnumber 1\n' "$(uname -n)" \
    "$(cat /proc/sys/kernel/random/boot_id)" "$(readlink /proc/self/ns/pid)" >out/.s2.img.hcube-claim
mkdir {out/.s2.img,previews/.s2.png}.4194304-1.partial
go_on 1
ended 0
[[ -e out/s2.img && -e previews/s2.png && -z $(hidden) && $(ls -A previews) != *partial* ]] ||
    fail "left $(hidden) $(ls -A previews | grep partial)"
rm -r previews

# refused FILE WORD...: the batch fails, since that file is there already.
refused() {
    local file=$1
    shift
    run 9 "$@"
    holds "$err" "$file: the file exists already, without a record" || fail "says $err"
    [[ $(<"$file") == mine ]] || fail "replaced a file of another: $(ls -A out)"
}
# Killed in front of each change to its claim: what had the name of an output before is replaced by no later batch, nor
# does one with a further output replace what has that name. A claim of an earlier version does not say what was checked.
checked=0
for ((kill = 1; ; kill++)); do
    rm -rf out && mkdir out
    echo mine >out/s2.img
    status=0
    said=$(HCUBE_KILL_NAME=s2.img.hcube-claim HCUBE_KILL_AT=$kill HCUBE_KILL_WRITES=1 LD_PRELOAD=$MODULES/kill_at.so \
        "$HCUBE" "${batch[@]/%in/in/s2.hdr}" --jobs 1 2>&1) || status=$?
    [[ $status == 137 ]] || break
    [[ -e out/.s2.img.hcube-claim ]] && checked=$((checked + 1))
    refused out/s2.img "${batch[@]/%in/in/s2.hdr}"
    [[ -z $(hidden) ]] || fail "left $(hidden) after kill $kill"
done
((status == 9 && checked > 0)) || fail "exit code $status, $checked claims after kill $kill: $said"
for checked in '' $'checked 0\n' $'checked 1\n'; do
    printf 'hcube claim\nhost %s\nboot %s\nprocesses %s\nowner 4194304 5\nparent 0 0\nnumber 1\n%s' "$(uname -n)" \
        "$(cat /proc/sys/kernel/random/boot_id)" "$(readlink /proc/self/ns/pid)" "$checked" >out/.s2.img.hcube-claim
    refused out/s2.img "${batch[@]/%in/in/s2.hdr}"
    rm -f out/.s2.img.hcube-claim
done
rm -rf out && mkdir out
kill=MORE
status=0
HCUBE_KILL_NAME=out/s2.hdr HCUBE_KILL_AT=1 LD_PRELOAD=$MODULES/kill_at.so \
    "$HCUBE" "${batch[@]/%in/in/s2.hdr}" --jobs 1 >log.txt 2>&1 || status=$?
[[ $status == 137 && -e out/.s2.img.hcube-claim && -e out/s2.png ]] || fail "exit code $status, $(ls -A out): $(cat log.txt)"
echo mine >out/s2.tif
refused out/s2.tif batch mnf --components 3 ! write 'out/{stem}.tif' ! preview 'out/{stem}.png' --bands 1,2,3 ! \
    write --scenes in/s2.hdr --output 'out/{stem}.img' --device cpu --threads 1
run 0 "${batch[@]/%in/in/s2.hdr}"
(cd out && only s2.{img,hdr,png,img.hcube.json,png.hcube.json,tif}) || fail "left behind: $(ls -A out)"

# A process that dies costs the scene that kills it alone for the second time; the others are done. The first process dies
# with scene 0 at work and scene 1 taken. Both come last, each alone in a process of its own. One job, since a machine with many processors takes more by itself. The signal ends the process
# under the sanitizers, too.
export ASAN_OPTIONS=handle_segv=0:$ASAN_OPTIONS
for ending in hdr img; do
    cp in/s1.$ending in/s0.$ending
done
rm -rf out && mkdir out
kill=SEGV
begin 'mkdir *.s0.img.[0-9]*.partial;unlink *s1.img.hcube-failed.json' "${batch[@]}" --jobs 1
read -r first worker <&7
read -r second number <&7
[[ $first$second == 12 || $first$second == 21 ]] || fail "events $first and $second: $(cat log.txt)"
[[ $number == "$worker" ]] || fail "processes $worker and $number"
kill -SEGV "$worker"
for attempt in 1 2; do
    next 1
    [[ $number != "$worker" ]] || fail "process $worker goes on"
    [[ $(open_scenes) == 1 && ! -e out/s0.img.hcube-failed.json ]] || fail "attempt $attempt: $(ls -A out)"
    worker=$number
    kill -SEGV "$worker"
done
next 2
[[ $number != "$worker" && -e out/s0.img.hcube-failed.json ]] || fail "process $number, $(ls -A out)"
go_on 2
ended 9
[[ $(grep -c "failed: in/s0.hdr: .*signal 11" log.txt) == 1 ]] || fail "says $(cat log.txt)"
grep -q "signal 11" out/s0.img.hcube-failed.json || fail "the marker says $(<out/s0.img.hcube-failed.json)"
[[ -z $(hidden) && ! -e out/s0.img && -e out/s0.img.hcube-failed.json ]] || fail "left $(ls -A out)"
rm out/s0.* in/s0.*
finished

# crash_at CALL: a new batch, whose three processes die in front of that call, one after the other.
crash_at() {
    rm -rf out && mkdir out
    begin "$1" "${batch[@]}" --jobs 1
    for attempt in 1 2 3; do
        next 1
        kill -SEGV "$number"
    done
}

# The same before the scene is claimed.
crash_at 'mkdir *s1.img.hcube-claim.*.partial'
next 1 # the batch itself, which leaves the marker
go_on 1
ended 9
[[ -z $(hidden) && $(open_scenes) == 1 && -e out/s1.img.hcube-failed.json ]] || fail "left $(ls -A out): $(cat log.txt)"
run 0 "${batch[@]}" --retry-failed
finished

# With one output of two in its place. Its marker hides the scene from the next batch, and the claim says whose that is.
crash_at 'link *s1.hdr'
ended 9
[[ -e out/s1.png && ! -e out/s1.img && -e out/s1.img.hcube-failed.json ]] || fail "left $(ls -A out): $(cat log.txt)"
run 10 "${batch[@]}"
run 0 "${batch[@]}" --retry-failed
finished

# Another worker lets a scene go while this one claims it, and is not dead: what has the name of the output is no one's.
rm -rf out && mkdir out
echo mine >out/s1.img
echo 'hcube claim' >out/.s1.img.hcube-claim
begin 'mkdir *s1.img.hcube-claim.*.partial' "${batch[@]}" --jobs 1
next 1
rm out/.s1.img.hcube-claim
go_on 1
ended 9
[[ $(<out/s1.img) == mine && -z $(hidden) ]] || fail "replaced a file of another, or left $(hidden): $(cat log.txt)"
grep -q "out/s1.img: the file exists already" log.txt || fail "says $(cat log.txt)"

# end_early SIGNAL: in the middle of a scene; its process ends with it, and the scene is not finished.
end_early() {
    kill=$1
    rm -rf out && mkdir out
    begin 'mkdir *.s1.img.[0-9]*.partial;kill 15' "${batch[@]/%in/in/s1.hdr}"
    next 1
    kill -s "$1" "$process"
}
end_early TERM
next 2
go_on 2
go_on 1
ended 130
[[ -z $(ls -A out) ]] || fail "left $(ls -A out)"
end_early KILL # the worker is paused: it ends by the end of its batch
ended 137
[[ ! -e out/s1.img ]] || fail "the scene was finished"

# Killed in front of each change to the files of a scene that fails with one output begun, or that lacks half of its
# lines, up to the end of its claim: the next batch leaves its marker alone, or makes it.
mkdir flat
sed 's/^lines *=.*/lines = 20/; s/^map info.*//; s/^coordinate system.*//' "$scene" >flat/bad.hdr
failing=(batch write 'out/{stem}.first.img' ! mnf --singular stop ! write --scenes flat --output 'out/{stem}.img' --device cpu)
for lines in 20 10; do
    head -c $((line * lines)) /dev/zero >flat/bad.img
    marked=0
    for ((kill = 1; ; kill++)); do
        rm -rf out && mkdir out
        status=0
        said=$(HCUBE_KILL_NAME=bad. HCUBE_KILL_AT=$kill LD_PRELOAD=$MODULES/kill_at.so "$HCUBE" "${failing[@]}" 2>&1) || status=$?
        [[ $status == 137 || $status == 9 ]] || fail "exit code $status: $said"
        claim=$(compgen -G 'out/..bad.img.hcube-claim.*.partial' || true)
        [[ ! $claim ]] || { rm -rf "$folder".claim && cp -a "$claim" "$folder".claim && claim_name=$claim; }
        # Killed behind the marker, the next run tells an old failure.
        old=$([[ ! -e out/bad.img.hcube-failed.json ]] || echo 1)
        [[ ! $old || $status == 9 ]] || marked=$((marked + 1))
        run $((old ? 10 : 9)) "${failing[@]}"
        (cd out && only bad.img.hcube-failed.json) || fail "$lines lines: left behind after kill $kill"
        [[ $status == 137 ]] || break
    done
    ((marked > 1)) || fail "$lines lines: $marked of $kill kills came behind the marker"
    # What a process that was killed while it claimed has left goes, although another one is done with the scene.
    mv "$folder".claim "$claim_name" || fail "no kill came while the scene was claimed"
    run 10 "${failing[@]}"
    (cd out && only bad.img.hcube-failed.json) || fail "$lines lines: a claim that never was stays"
done
rm -rf flat

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
    [[ $status == 4 && $after == 0 ]] || fail "exit codes $status and $after: $(cat log.txt)"
    grep -q "No space left on device" log.txt || fail "says $(cat log.txt)"
    (cd copy && only "${names[@]}") || fail "left $left"
fi
