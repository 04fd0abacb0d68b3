# `-` as output: the bytes of the file by name, on standard output; all else that is printed goes to standard error.
export TMPDIR=$PWD/temporary
mkdir temporary
options=(--components 3 --device cpu)
nothing_left() {
    [[ -z $(ls -A temporary) ]] || fail "left in TMPDIR: $(ls -A temporary)"
}

run 0 mnf "$scene" named.tif "${options[@]}"
"$HCUBE" mnf "$scene" - "${options[@]}" 2>words | cat >sent.tif
cmp named.tif sent.tif
[[ $(<words) == *"sent to standard output (100 lines x 100 samples x 3 bands)"*"done in "* ]] || fail "says $(<words)"
"$HCUBE" mnf "$scene" - "${options[@]}" --quiet --verify 2 2>words >sent.tif
cmp named.tif sent.tif
[[ ! -s words ]] || fail "says with --quiet: $(<words)"
nothing_left
[[ ! -e ./- ]] || fail "there is a file -"

# In a chain; COG and netCDF too. What stages show of their results goes with the rest.
for format in COG netCDF gtiff; do
    run 0 run read "$scene" ! bands 1-4 ! write named.nc --format $format --record none --overwrite
    "$HCUBE" run read "$scene" ! bands 1-4 ! write - --format $format --progress json 2>words >sent
    cmp named.nc sent
    [[ $(<words) == *'{"stage":"write","file":"-"}'* ]] || fail "says $(<words)"
done
run 0 run read "$scene" ! bands 1-4 ! write named --format GTiff --record none --overwrite
"$HCUBE" run read "$scene" ! dimension ! bands 1-4 ! write - 2>words >sent
cmp named sent
[[ $(<words) == *recommended* ]] || fail "says $(<words)"
nothing_left

# A record where one is asked for, which can be run again; other outputs have theirs.
"$HCUBE" run read "$scene" ! preview seen.png ! bands 1-4 ! write - --record run.json 2>/dev/null >sent
cmp named sent
grep -Eq '"file":\s*"-"' run.json
"$HCUBE" rerun run.json --overwrite 2>/dev/null >again
cmp named again
run 0 rerun run.json --check
[[ $out == *"standard output: not compared"* ]] || fail "says $out"
rm seen.png
"$HCUBE" run read "$scene" ! preview seen.png ! bands 1-4 ! write - 2>/dev/null >sent
[[ -e seen.png.hcube.json && ! -e ./-.hcube.json ]] || fail "found $(entries)"
rm seen.png*

# A class map: what cannot be sent is said.
"$HCUBE" run read "$scene" ! kmeans --clusters 3 ! write - 2>words >classes.tif
[[ $(<words) == *"note: write: names and colours of classes"* ]] || fail "says $(<words)"
run 0 info classes.tif

# What cannot be sent.
refuse 2 "write: -: ENVI ... standard output ... --format GTiff" \
    mnf "$scene" - --format ENVI
refuse 2 "write: -: --qml writes a second file" mnf "$scene" - --qml
refuse 2 "write: -: an earlier step sends" run read "$scene" ! write - ! bands 1 ! write -
refuse 2 "cov: -: only write sends" cov "$scene" -
refuse 2 "preview: -: pictures are PNG files" preview "$scene" -
refuse 2 "batch: --output -: ... a file for each scene" batch mnf --scenes "$scene" --output -
run 0 plan mnf "$scene" - --components 3
status=0
"$HCUBE" mnf "$scene" - --quiet >&- 2>words || status=$?
[[ $status == 2 && $(<words) == "hcube: write: -: standard output is closed" ]] || fail "closed: $status, $(<words)"
if [[ $(type -P script) ]]; then
    status=0
    script -qec "'$HCUBE' mnf '$scene' - --quiet" /dev/null >words </dev/null || status=$?
    [[ $status == 2 && $(<words) == *"standard output is a terminal"* ]] || fail "terminal: $status, $(<words)"
fi
nothing_left

# A full disk, a reader that goes, a program that is ended: one line, no other output, nothing is left.
for command in "read $scene ! preview seen.png ! write -"; do
    status=0
    "$HCUBE" run $command --quiet >/dev/full 2>words || status=$?
    [[ $status == 4 && $(<words) == "hcube: standard output: No space left on device" ]] || fail "full: $status, $(<words)"
    # The pipe holds 64 KiB, the raster has more.
    mkfifo pipe
    "$HCUBE" run $command --quiet >pipe 2>words &
    head -c 10 <pipe >/dev/null
    status=0
    wait $! || status=$?
    [[ $status == 4 && $(<words) == "hcube: standard output: its reader has closed"* ]] ||
        fail "closed pipe: $status, $(<words)"
    # The reader takes nothing.
    exec 9<>pipe
    "$HCUBE" run $command --quiet >pipe 2>words 9>&- &
    sender=$!
    while [[ -z $(ls temporary/.standard-output.tif.*/standard-output.tif 2>/dev/null) || $(ps -o stat= $sender) != S* ]]; do
        sleep 0.05
    done
    sleep 0.3
    kill -TERM $sender
    status=0
    wait $sender || status=$?
    exec 9>&-
    [[ $status == 130 && $(<words) == "hcube: "*interrupted* ]] || fail "ended: $status, $(<words)"
    nothing_left
    [[ ! -e seen.png && ! -e seen.png.hcube.json ]] || fail "found $(entries)"
done
# What a process leaves that is killed goes with the next one.
exec 9<>pipe
"$HCUBE" run read "$scene" ! write - --quiet >pipe 2>words 9>&- &
sender=$!
while [[ -z $(ls temporary/.standard-output.tif.*/standard-output.tif 2>/dev/null) ]]; do
    sleep 0.05
done
kill -KILL $sender
wait $sender || true
exec 9>&-
"$HCUBE" run read "$scene" ! bands 1-4 ! write - --quiet >sent
cmp named sent
nothing_left
TMPDIR=$PWD/missing refuse 4 "missing" mnf "$scene" -
refuse 2 "--scratch missing: No such file or directory" mnf "$scene" - --scratch missing
refuse 2 "--scratch named: Not a directory" mnf "$scene" - --scratch named
refuse 4 "standard-output.tif: making it takes up to 2.3 MiB of the scratch folder, --scratch-space leaves 10.0 KiB" \
    mnf "$scene" - --scratch-space 10K
