# One scene shared by processes of this host (--ranks): the same bytes as one process writes.

# ranks COUNT STATUS COMMAND WORD...: as `run` with COUNT ranks.
ranks() {
    run "$2" "$3" --ranks "$1" "${@:4}"
}

same "2 3" read "$scene" ! mnf --components 7 --save-model model.json ! write out.img ! write out.tif \
    ! preview picture.png --scree scree.png
same "2 5" read "$scene" ! filter median3x3 ! filter mean3x3 ! write out.bip --type int16 \
    ! write tiled.tif --co TILED=YES --co INTERLEAVE=PIXEL --compress deflate ! write cloud.tif --format COG
same "2 3" read "$scene" ! pca --components 6 ! kmeans --clusters 7 --distance --centres found.sli ! write out.img
same "3" read "$scene" ! pca --components 6 ! rx --side 9 --guard 3 --detections local.gpkg ! write local.img
same "2" read "$scene" ! detect --target-at 25,40 --target-at 70,60 --rates both ! write rates.img
same "2 3" read "$scene" ! denoise --stripes ! write out.img
same "3" read "$scene" ! noise noise.json --columns 7 --column-csv columns.csv ! write out.img
same "3" read "$scene" ! endmembers found.sli --count 5 --csv found.csv --places found.gpkg --picture found.png ! write out.tif
same "5" read "$scene" ! mnf --components 10 \
    ! knn --training "$SAMPLE/training.gpkg" --layer training --field class_name -k 3 --split 0.5 --report report.json \
    ! write classes.tif ! preview classes.png
same "2" read "$scene" ! mnf --components 5 --denoise --dark "$scene" ! write out.img

# A scene of floats, whose sums are on a grid, of more bytes than the buffers of the ranks.
header raw 20 100 300
head -c 1200000 "$SAMPLE/scene.img" >raw.img
run 0 filter raw.hdr float.img --kind mean3x3 --device cpu
same "3" read "$folder/float.hdr" ! cov all.json ! rx --rates rank ! write out.img
rm raw.* float.*

# More ranks than lines.
header flat 9 3 4
head -c 216 "$SAMPLE/scene.img" >flat.img
same "5" read "$folder/flat.hdr" ! filter median3x3 ! write out.img ! write out.tif
rm flat.*

# The option stands where options of a run do. One rank is a run without ranks.
run 0 mnf "$scene" one.img --components 3 --device cpu
run 0 mnf "$scene" two.img --components 3 --device cpu --ranks 2
cmp one.img two.img
echo 'read "{scene}" ! mnf --components 3 --ranks 2 --device cpu ! write three.img' >chain.hcube
run 0 run chain.hcube --set scene="$scene"
cmp one.img three.img
for count in two three; do
    (($(grep -c first_line_from_0 $count.img.hcube.json) == 2)) || fail "$count.img is not of two ranks"
done
run 0 mnf "$scene" four.img --components 3 --device cpu --ranks 1
[[ $(cat four.img.hcube.json) != *'"ranks":'* ]] || fail "one rank counts as several"

# What ranks have made, one process makes again; records differ in the command alone.
run 0 rerun two.img.hcube.json --check
[[ $out == *"4 files the same, 0 not" ]] || fail "rerun says $out"
run 1 diff one.img.hcube.json two.img.hcube.json
[[ $(grep -v '^command: \|^outputs\|^steps' <<<"$out") == *" difference"* && $out != *ranks:* ]] || fail "diff says $out"
run 0 plan mnf "$scene" x.img --ranks 3
[[ $out == "ranks    3 share the lines; "* ]] || fail "plan says $out"
rm one.* two.* three.* four.* chain.hcube

# Ranks share the processors that the first one may use, or have what they are given.
# threads COUNT WORD...: the threads of each rank.
threads() {
    ranks "$1" 0 run --device cpu --overwrite "${@:2}" read "$scene" ! write out.img
    grep -o '"device":[[:space:]]*"[^"]*thread' out.img.hcube.json | grep -o '[0-9]* thread' | cut -d' ' -f1 | tr '\n' ' '
}
here=$(nproc)
each=$((here / 2 > 1 ? here / 2 : 1))
[[ $(threads 2) == "$each $each " ]] || fail "two ranks on $here processors take $(threads 2)threads"
[[ $(threads 3 --threads 2) == "2 2 2 " ]] || fail "--threads 2 gives three ranks $(threads 3 --threads 2)"
if ((here > 2)); then # two of more processors
    cpus=()
    for ((cpu = 0; ${#cpus[@]} < 2; cpu++)); do
        ! taskset -c $cpu true 2>/dev/null || cpus+=("$cpu")
    done
    [[ $(taskset -cp "${cpus[0]},${cpus[1]}" $BASHPID >/dev/null && threads 2) == "1 1 " ]] ||
        fail "two ranks do not share two processors"
fi
# They sit beside their GPUs (here processor 0 beside the first and 1 beside the second) where each GPU has as many.
# seats COUNT WORD...: the device of each rank, and its processors.
seats() {
    HCUBE_GPU_MODULE=$MODULES/stand_in.so HCUBE_STAND_IN_PROCESSORS=1 ranks "$1" 0 run --device "${2:-gpu}" --overwrite read "$scene" \
        ! mnf --components 2 ! write out.img
    sed -n '/"ranks"/,$p' out.img.hcube.json | grep -o 'stand-in [0-9]*, processors[ 01]*' | sed 's/stand-in //' | tr '\n' ';'
}
if [[ $(taskset -cp 0,1 $BASHPID 2>/dev/null >&2 && nproc) == 2 ]]; then
    [[ $(taskset -cp 0,1 $BASHPID >/dev/null && seats 2) == "0, processors 0;1, processors 1;" ]] || fail "two ranks sit at $(seats 2)"
    [[ $(taskset -cp 0,1 $BASHPID >/dev/null && seats 3) == "0, processors 0 1;1, processors 0 1;0, processors 0 1;" ]] ||
        fail "three ranks sit at $(seats 3)"
    [[ $(taskset -cp 0,1 $BASHPID >/dev/null && seats 2 gpu:1) == "1, processors 0 1;1, processors 0 1;" ]] ||
        fail "two ranks of one GPU sit at $(seats 2 gpu:1)"
fi
rm out.*

# Wrong words.
refuse 2 "run: --ranks 0 ... 1 and 64" run --ranks 0 read "$scene" ! write out.img
refuse 2 "filter: --ranks 65 ... 1 and 64" filter "$scene" out.img --ranks 65
refuse 2 "--ranks two: not a whole number" run read "$scene" ! write out.img --ranks two
refuse 2 "-: several ranks need a file" run --ranks 2 read "$scene" ! write -
refuse 6 "--verify: a run that 2 processes share" run --ranks 2 --verify 2 read "$scene" ! write out.img
refuse 6 "--verify: a run that 3 processes share" plan --ranks 3 --verify 2 read "$scene" ! write out.img
refuse 2 "--ranks: unknown option ... hcube run" batch filter --scenes "$scene" --output '{stem}.img' --ranks 2
refuse 2 "--ranks: unknown option" info "$scene" --ranks 2
only

# A failure of all is one line, and so is one of one rank; nothing is left.
refuse 3 missing.hdr run --ranks 3 read missing.hdr ! write out.img
header large 1000 3000 60
: >large.img
truncate -s 360000000 large.img
for name in out.img out.tif; do
    status=0
    (ulimit -f 200000 && exec "$HCUBE" run --ranks 3 --device cpu read large.hdr --source-nodata none ! write $name) 2>err.txt || status=$?
    [[ $status == 4 && $(grep -v '^note: ' err.txt) == "hcube: "*"$name: File too large"* ]] || fail "$name: $status: $(cat err.txt)"
    rm err.txt
    only large.hdr large.img
done

# The GPUs of a host are taken in turn, one by each rank; gpu:N is for all of them.
if [[ -e $MODULES/stand_in.so ]]; then
    export HCUBE_GPU_MODULE=$MODULES/stand_in.so HCUBE_STAND_IN=3
    # devices WORD: what each of five ranks computed on.
    devices() {
        ranks 5 0 run --device "$1" --overwrite read "$scene" ! mnf --components 3 ! write out.img
        grep -o '"device":[[:space:]]*"stand-in [0-9]' out.img.hcube.json | grep -o '[0-9]$' | tr -d '\n'
    }
    run 0 run --device gpu read "$scene" ! mnf --components 3 ! write one.img
    [[ $(devices auto) == 01201 && $(devices gpu) == 01201 ]] || fail "devices $(devices gpu)"
    cmp one.img out.img
    [[ $(devices gpu:2) == 22222 ]] || fail "devices $(devices gpu:2)"
    cmp one.img out.img
    refuse 7 "--device gpu:3: " run --ranks 2 --device gpu:3 read "$scene" ! write none.img
    rm one.* out.*
    unset HCUBE_GPU_MODULE HCUBE_STAND_IN
fi

# ---- ranks that end, and signals ----

# What happens when is decided by calls of the program (pause_at.so), and not by the clock.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
mkfifo events events.1
exec 7<>events 8<>events.1 # so that what is written waits for those that are let go
inputs=(large.hdr large.img err.txt events events.1)

# gone PROCESS: it has ended, whether or not somebody has asked how.
gone() {
    [[ ! -e /proc/$1/stat || $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == [ZX]* ]]
}

# begin: a run of three ranks, $process and the others in ${others[@]}. Each of these has been let go in front of the file in which it
# leaves lines for the first rank, which waits for them: the first one has made its file, the second one is stopped.
begin() {
    local number paused
    others=()
    HCUBE_PAUSE=events HCUBE_PAUSE_AT='mkdir *.out.tif.*.partial' LD_PRELOAD=$MODULES/pause_at.so "$HCUBE" run --ranks 3 \
        --threads 1 --device cpu read large.hdr --source-nodata none ! filter median3x3 ! write out.img ! write out.tif 2>err.txt 7>&- 8>&- &
    process=$!
    read -r number paused <&7
    [[ $number == 1 && $paused == "$process" ]] || fail "event $number of $paused: $(cat err.txt)"
    echo >&8
    for _ in 1 2; do
        read -r number paused <&7
        others+=("$paused")
    done
    kill -s STOP "${others[1]}"
    printf ".." >&8
    while [[ $(entries) != *".out.tif.${others[0]}-"* ]]; do :; done
}

# ended STATUS PART: how the run begun ends; nothing is left of it.
ended() {
    status=0
    wait "$process" || status=$?
    [[ $status == "$1" && $(grep -v '^note: ' err.txt) == "hcube: "*"$2"* && $(grep -c '^hcube: ' err.txt) == 1 ]] ||
        fail "exit code $status: $(cat err.txt)"
    for other in "${others[@]}"; do
        gone "$other" || fail "rank $other is still there"
    done
    only "${inputs[@]}"
}

# A rank is killed: with a file of its own, or stopped in front of it. The folder is so large that it is not looked at each
# time.
small=("${inputs[@]}")
seq -f 'other%g' 5000 | xargs touch
inputs+=(other*)
for dying in 0 1; do
    begin
    kill -s KILL "${others[$dying]}"
    kill -s CONT "${others[1]}" 2>/dev/null || true
    ended 4 " of 3 was ended by signal 9 (Killed)"
    [[ $(cat err.txt) == *"hcube: rank "[12]" of 3 was"* ]] || fail "$(cat err.txt)"
done
rm other*
inputs=("${small[@]}")
# A signal to one of them, be it the first or not, ends all of them as it ends one process.
for signal in INT TERM HUP; do
    begin
    kill -s $signal "$process"
    kill -s CONT "${others[1]}"
    ended 130 interrupted
done
begin
kill -s TERM "${others[0]}"
kill -s CONT "${others[1]}"
ended 130 interrupted
# All of them get it from a terminal.
begin
kill -s INT "$process" "${others[@]}"
kill -s CONT "${others[1]}"
ended 130 interrupted
# The first rank is killed: the others end, and take their files along.
begin
kill -s KILL "$process"
kill -s CONT "${others[1]}"
wait "$process" 2>/dev/null || true
for other in "${others[@]}"; do
    until gone "$other"; do :; done
    [[ $(entries) != *".out.tif.$other-"* ]] || fail "rank $other left $(entries)"
done
[[ ! -e out.img && ! -e out.tif && $(entries) == *".out.tif.$process-"* ]] || fail "left $(entries)"
run 0 run --ranks 2 --device cpu read "$scene" ! write out.img ! write out.tif
only "${inputs[@]}" out.img out.hdr out.tif out.{img,tif}.hcube.json
