# Several scenes in work at once in one process of a batch, on a device with memory of its own (MODULES/stand_in.so): they
# overlap, and neither outputs nor failures are others than those of one scene after the other. What happens when is decided
# by calls of the batch (pause_at.so) and never by the clock.
export HCUBE_GPU_MODULE=$MODULES/stand_in.so
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
line=$((100 * 64 * 2)) # bytes of a line of the sample scene
scenes=(1 2 3 4 5 6 7 8)
mkdir in
for s in "${scenes[@]}"; do
    sed 's/^lines *=.*/lines = 30/; s/^map info.*//; s/^coordinate system.*//' "$scene" >in/s$s.hdr
    dd if="$SAMPLE/scene.img" of=in/s$s.img bs=$line skip=$((s * 8)) count=30 status=none
done
# Eight scenes in one process: four at once.
batch=(batch mnf --components 4 --scenes in --output 'out/{stem}.img' --jobs 1 --progress json)
run 0 batch mnf --components 4 --scenes in --output 'cpu/{stem}.img' --device cpu
names=()
for s in "${scenes[@]}"; do
    names+=("s$s.img" "s$s.hdr" "s$s.img.hcube.json")
done
# finished: all outputs are there, and those of the CPU.
finished() {
    local s
    for s in "${scenes[@]}"; do
        cmp "out/s$s.img" "cpu/s$s.img"
        cmp "out/s$s.hdr" "cpu/s$s.hdr"
    done
    (cd out && only "${names[@]}")
}
events() {
    grep -c "^{\"event\":\"$1\"" <<<"${err:-$(cat log.txt)}" || true
}
# never_more COUNT: COUNT scenes at once, at most.
never_more() {
    awk -v most="$1" '/"event":"started"/ { now++ } /"event":"done"/ { now-- } now > most { exit 1 }' <<<"$err" ||
        fail "more than $1 at once: $err"
}

run 0 "${batch[@]}"
[[ $(events done) == 8 && $err == *'"workers":1,'* ]] || fail "says $err"
finished
run 0 "${batch[@]}"
[[ $(events skipped) == 8 ]] || fail "does again: $err"

. "$here/pause.sh"
# begin_batch PATTERNS: the batch from its beginning.
begin_batch() {
    err=
    rm -rf out && mkdir out
    begin "$1" "${batch[@]}"
}
# both: waits until two scenes are in work in one process, $worker, which are about to make their files.
both() {
    read -r first worker <&7
    [[ $first != ended ]] || fail "ended with $worker: $(cat log.txt)"
    read -r second number <&7
    [[ $first$second == 12 || $first$second == 21 ]] || fail "events $first and $second: $(cat log.txt)"
    [[ $number == "$worker" ]] || fail "processes $worker and $number"
}

# Two scenes are at their last pass before either has a file. The others go on beside them.
begin_batch 'mkdir *.s1.img.[0-9]*.partial;mkdir *.s2.img.[0-9]*.partial'
both
go_on 2
go_on 1
ended 0
[[ $(events done) == 8 ]] || fail "says $(cat log.txt)"
finished

# A process that dies takes several scenes with it. All come again, one after the other, and none of them is to blame.
export ASAN_OPTIONS=handle_segv=0:$ASAN_OPTIONS
begin_batch 'mkdir *.s1.img.[0-9]*.partial;mkdir *.s2.img.[0-9]*.partial'
both
kill -SEGV "$worker"
next 1
[[ $number != "$worker" ]] || fail "process $worker goes on"
go_on 1
next 2
go_on 2
ended 0
[[ $(events failed) == 0 ]] || fail "says $(cat log.txt)"
finished

# Both are given up at an interruption, and nothing of them is left.
begin_batch 'mkdir *.s1.img.[0-9]*.partial;mkdir *.s2.img.[0-9]*.partial;kill 15'
both
mkfifo events.3
kill -TERM "$process"
next 3
go_on 3
go_on 1
go_on 2
ended 130
[[ -z $(find out -name '.*' ! -name . -print) ]] || fail "left $(ls -A out)"
run 0 "${batch[@]}"
finished

# Memory that is enough for one scene and not for four: one after the other, and none fails.
rm -rf out
run 9 "${batch[@]}" --memory 1M
need=$(grep -o -m 1 'needs at least [0-9.]* [KMG]iB' <<<"$err" | head -n 1)
read -r _ _ _ need unit <<<"$need"
[[ $unit == MiB ]] || fail "needs $need $unit"
run 0 "${batch[@]}" --memory "$(awk -v need="$need" 'BEGIN { printf "%d", need * 1.5 + 1 }')M"
[[ $(events done) == 8 && $(events failed) == 0 ]] || fail "says $err"
finished

# Of more scenes with 16 threads eight are at once, where the device keeps each of them from pass to pass.
mkdir many
for s in {1..16}; do
    cp "in/s$(((s - 1) % 8 + 1)).img" "many/s$s.img"
    cp "in/s$(((s - 1) % 8 + 1)).hdr" "many/s$s.hdr"
done
batch_of_many=("${batch[@]/#in/many}" --threads 16)
mkfifo events.{4..8}
err=
rm -rf out && mkdir out
begin "$(printf 'mkdir *.s%d.img.[0-9]*.partial;' {1..8})" "${batch_of_many[@]}"
seen=
for s in "${scenes[@]}"; do
    read -r event number <&7
    seen+=" $event"
    [[ $s == 1 ]] || [[ $number == "$worker" ]] || fail "processes $worker and $number"
    worker=$number
done
[[ $(tr ' ' '\n' <<<"${seen# }" | sort | tr -d '\n') == 12345678 ]] || fail "events$seen: $(cat log.txt)"
for s in "${scenes[@]}"; do
    go_on "$s"
done
ended 0
[[ $(events done) == 16 ]] || fail "says $(cat log.txt)"
for s in {1..16}; do
    cmp "out/s$s.img" "cpu/s$(((s - 1) % 8 + 1)).img"
done

# Processes start one after the other, and none without a scene.
rm -rf out
run 0 "${batch[@]}" --jobs 3
[[ $(events done) == 8 && $err == *'"workers":3,'* ]] || fail "says $err"
finished

# Pictures are drawn by libraries that several threads must not ask at once: one scene after the other.
run 0 batch 'mnf --components 4 ! preview drawn/{stem}.png ! write' --scenes in --output 'drawn/{stem}.img' --jobs 1 \
    --progress json
[[ $(events done) == 8 ]] || fail "says $err"
never_more 1

! sanitized || exit 77 # what injects failures wants to be first

# The device fails once: whatever was in work then is done again, by another process.
for call in 5 20 60 150 400; do
    rm -rf out
    head -c 1048576 /dev/zero >state
    HCUBE_FAIL=device HCUBE_FAIL_AT=$call HCUBE_FAIL_STATE=state LD_PRELOAD=$MODULES/fail_at.so run 0 "${batch[@]}" --device gpu
    [[ $(events done) == 8 && $(events failed) == 0 ]] || fail "call $call: says $err"
    finished
done
# Each time: the scenes fail, one after the other, with what the device says.
rm -rf out
HCUBE_FAIL=device HCUBE_FAIL_AT=40 HCUBE_FAIL_TIMES=0 LD_PRELOAD=$MODULES/fail_at.so run 9 "${batch[@]}" --device gpu
[[ $(events failed) -ge 1 && $err == *"as the test asked"* ]] || fail "says $err"
(cd out && [[ -z $(find . -name '.*' ! -name . -print) ]]) || fail "left $(ls -A out)"

# A process that does not get its device keeps no other back.
rm -rf out
head -c 1048576 /dev/zero >state
HCUBE_FAIL=device HCUBE_FAIL_AT=1 HCUBE_FAIL_STATE=state LD_PRELOAD=$MODULES/fail_at.so run 0 "${batch[@]}" --jobs 2 --device gpu
[[ $(events done) == 8 && $(events failed) == 0 ]] || fail "says $err"
finished

# By itself the batch has one process for a GPU, where this one can have several scenes in work at once, and else more.
for s in {17..48}; do
    ln "many/s$(((s - 1) % 8 + 1)).img" "many/s$s.img"
    ln "many/s$(((s - 1) % 8 + 1)).hdr" "many/s$s.hdr"
done
export HCUBE_STAND_IN=1 HCUBE_PROCESSORS=16
# by_itself WORKERS DEVICE STEP...
by_itself() {
    local workers=$1 device=$2
    shift 2
    rm -rf out
    LD_PRELOAD=$MODULES/processors.so:$MODULES/fail_at.so run 0 batch "$@" --scenes many --output 'out/{stem}.img' \
        --device "$device" --progress json
    [[ $(events done) == 48 && $(events failed) == 0 && $err == *"\"workers\":$workers,"* ]] || fail "says $err"
}
by_itself 1 gpu mnf --components 4
by_itself 4 gpu mnf --components 4 ! preview 'out/{stem}.png' ! write
# Several processes, with one scene each, go on where one with several scenes has failed.
head -c 1048576 /dev/zero >state
HCUBE_FAIL=device HCUBE_FAIL_AT=20 HCUBE_FAIL_STATE=state by_itself 5 gpu mnf --components 4
# There is a GPU that cannot be opened: as many processes as on a host without one.
HCUBE_FAIL=device HCUBE_FAIL_AT=1 HCUBE_FAIL_TIMES=0 by_itself 4 auto mnf --components 4

# More than four only where the device keeps each of them from pass to pass, and in blocks as large as with four.
mkdir large
for s in {1..125}; do
    cat "$SAMPLE/scene.img"
done >all.img
# at_most COUNT LINES STEP...: scenes of LINES lines.
at_most() {
    local count=$1 lines=$2 s
    shift 2
    rm -rf out large && mkdir large
    head -c $((lines * line)) all.img >large/s1.img
    sed "s/^lines *=.*/lines = $lines/; s/^interleave.*/interleave = bil/; s/^map info.*//; s/^coordinate system.*//" \
        "$scene" >large/s1.hdr
    for s in {2..16}; do
        ln large/s1.img "large/s$s.img"
        ln large/s1.hdr "large/s$s.hdr"
    done
    run 0 batch "$@" --scenes large --output 'out/{stem}.img' --jobs 1 --threads 16 --device gpu --progress json
    [[ $(events done) == 16 && $err == *'"workers":1,'* ]] || fail "says $err"
    never_more "$count"
}
at_most 4 4000 mnf --components 4 --device-memory 800M
at_most 4 12500 pca --components 1 --device-memory 1640M
# Each asks for its part of what is free when the others have theirs.
HCUBE_STAND_IN_MEMORY=1400000000 at_most 4 4000 mnf --components 4
