# Too little address space, and threads that cannot be made: exit code 5 with a line, soon.
! sanitized || exit 77 # it takes terabytes

# From a limit that the loader meets to one that suffices: nothing spins, and no code is undocumented.
told=0
for ((limit = 150; limit <= 800; limit += 25)); do
    for command in version "mnf $scene out.tif --overwrite --components 2 --device cpu --threads 2"; do
        status=0
        (ulimit -v $((limit * 1024)) && exec timeout -k 5 60 "$HCUBE" $command) >log.txt 2>&1 || status=$?
        # The loader itself ends with 127.
        [[ $status == 0 || $status == 5 || ($status == 127 && $(<log.txt) == *"shared libraries"*) ]] ||
            fail "hcube $command with $limit MiB: exit code $status: $(<log.txt)"
        [[ $status != 5 ]] || grep -Eq '^hcube: .*(memory|thread)' log.txt || fail "with $limit MiB: $(<log.txt)"
        told=$((told + (status == 5)))
    done
done
((told > 0)) || fail "no limit was too small"
# Threads that multiply at the same time need a buffer of 128 MiB each: there are as many as have one. What a machine needs to
# start goes with its processors, so the limits go up from the first that suffices, by less than a buffer and beyond two.
enough=0
for ((limit = 600; enough < 40; limit += 8)); do
    status=0
    (ulimit -v $((limit * 1024)) && exec timeout -k 5 60 "$HCUBE" mnf "$scene" out.tif --overwrite --components 2 --device cpu \
        --threads 8) >log.txt 2>&1 || status=$?
    [[ $status == 5 && $enough == 0 && $limit -lt 8000 ]] && grep -Eq '^hcube: .*(memory|thread)' log.txt && continue
    [[ $status == 0 ]] || fail "8 threads with $limit MiB: exit code $status: $(<log.txt)"
    enough=$((enough + 1))
    threads=$(sed -n 's/^.*"threads":[[:space:]]*\([0-9]*\).*/\1/p' out.tif.hcube.json | head -n 1)
    ((threads > 0 && threads * 128 < limit)) || fail "$threads threads with $limit MiB"
done

# fail_thread TIMES WORD...: hcube where the first thread cannot be started (TIMES=1), or none can (0).
fail_thread() {
    status=0
    HCUBE_FAIL=thread:EAGAIN HCUBE_FAIL_AT=1 HCUBE_FAIL_TIMES=$1 LD_PRELOAD=$MODULES/fail_at.so \
        timeout -k 5 60 "$HCUBE" "${@:2}" >log.txt 2>&1 || status=$?
}
rm -f out.*
fail_thread 0 mnf "$scene" out.tif --components 2 --device cpu --threads 2
[[ $status == 5 && $(tail -n 1 log.txt) == "hcube: a thread could not be started" ]] || fail "exit code $status: $(<log.txt)"
only log.txt
# The first thread is one that computes: a run goes on with fewer, to the same bits.
run 0 mnf "$scene" two.tif --components 2 --device cpu --threads 2 --record none
fail_thread 1 mnf "$scene" one.tif --components 2 --device cpu --threads 2 --record one.json
[[ $status == 0 ]] || fail "exit code $status: $(<log.txt)"
cmp one.tif two.tif
rm -f one.* two.*
# A GPU is not missing because memory is.
for ((call = 1; call <= 40; call++)); do
    status=0
    HCUBE_GPU_MODULE=$MODULES/stand_in.so HCUBE_FAIL=alloc HCUBE_FAIL_AT=$call HCUBE_FAIL_TIMES=0 LD_PRELOAD=$MODULES/fail_at.so \
        "$HCUBE" devices >log.txt 2>&1 || status=$?
    [[ $status == 5 || ($status == 0 && $(<log.txt) == *"stand-in 1"*) ]] || fail "allocation $call: exit code $status: $(<log.txt)"
done
# Nor is a file broken that GDAL cannot open for lack of memory. fail_all CALL...: allocations from the CALL-th on fail.
fail_all() {
    status=0
    HCUBE_FAIL=alloc HCUBE_FAIL_AT=$1 HCUBE_FAIL_TIMES=0 LD_PRELOAD=$MODULES/fail_at.so "$HCUBE" write "$SAMPLE/class.hdr" \
        class.tif --overwrite --device cpu --threads 1 --record none >log.txt 2>&1 || status=$?
}
below=1 above=20000
while ((above - below > 1)); do
    fail_all $(((below + above) / 2))
    ((status != 0)) && below=$(((below + above) / 2)) || above=$(((below + above) / 2))
done
for ((call = above - 90; call < above; call++)); do
    fail_all $call
    [[ $status == 0 || $status == 5 ]] || fail "allocation $call: exit code $status: $(<log.txt)"
done
# A scene is not marked for it: the next batch does it.
mkdir in
cp "$scene" in/s.hdr
cp "$SAMPLE/scene.img" in/s.img
batch=(batch pca --components 2 --scenes in --output 'out/{stem}.tif' --device cpu --threads 2)
fail_thread 0 "${batch[@]}"
[[ $status == 9 && -z $(ls -A out) ]] || fail "exit code $status, left $(ls -A out): $(<log.txt)"
run 0 "${batch[@]}"
[[ $err == *"1 done"* ]]

# Patches of svd fit into little memory.
run 0 svd "$scene" svd.tif --memory 110M --device cpu --threads 2 --record none
run 0 svd "$scene" more.tif --device cpu --threads 2 --record none
cmp svd.tif more.tif

# GDAL waits for ever for threads that do not start: it has one, unless the user wants more and all of them start.
for words in "--format COG --compress deflate" "--co COMPRESS=LZMA"; do
    # shellcheck disable=SC2086
    HCUBE_FAIL_SCOPE=libraries fail_thread 0 write "$scene" lone.tif $words --overwrite --device cpu
    [[ $status == 0 ]] || fail "$words without threads of libraries: exit code $status: $(<log.txt)"
done
nobody=(setpriv --reuid 61234 --clear-groups)
chmod 777 .
if [[ $(id -u) == 0 ]] && "${nobody[@]}" "$HCUBE" info "$scene" >/dev/null 2>&1; then
    done=0
    for ((limit = 2; limit <= 12; limit++)); do
        status=0
        # shellcheck disable=SC2016
        "${nobody[@]}" bash -c 'ulimit -u $0 && exec timeout -k 5 60 "$@"' "$limit" "$HCUBE" write "$scene" few.tif --format COG \
            --compress deflate --co NUM_THREADS=9 --overwrite --device cpu --threads 1 --record none >log.txt 2>&1 || status=$?
        [[ $status == 0 || ($status == 5 && $done == 0) ]] || fail "$limit threads: exit code $status: $(<log.txt)"
        done=$((done + (status == 0)))
    done
    ((done > 4)) || fail "$done of the limits were enough"
fi
