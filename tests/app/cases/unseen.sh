# A file that cannot be looked at (EIO) is never taken for a missing one: calls of stat, lstat and access fail once.
sanitized && exit 77
line=$((100 * 64 * 2)) # bytes of a line of the sample scene
mkdir in in/deeper out
for s in in/s1 in/deeper/s2; do
    sed 's/^lines *=.*/lines = 30/; s/^map info.*//; s/^coordinate system.*//' "$scene" >$s.hdr
    dd if="$SAMPLE/scene.img" of=$s.img bs=$line count=30 status=none
done
printf 'in/s1.hdr\n' >list.txt
printf 'mnf --components 4 ! write\n' >chain.hcube
printf 'not of hcube\n' >mine.csv

# sweep FAILED STEP LAST WORD...: runs the words, in each run one call fails, every STEP-th up to LAST. A run says the
# same as without a failure, or ends with exit code 4 and names the reason. At least FAILED runs end so.
sweep() {
    local least=$1 step=$2 last=$3 failed=0 call status expected=0
    shift 3
    "$HCUBE" "$@" >expected.txt 2>&1 || expected=$?
    for ((call = 1; call <= last; call += step)); do
        status=0
        HCUBE_FAIL=stat:EIO HCUBE_FAIL_AT=$call LD_PRELOAD=$MODULES/fail_at.so \
            "$HCUBE" "$@" >log.txt 2>&1 || status=$?
        if ((status == 4)); then
            [[ $(tail -n 1 log.txt) == "hcube: "*"Input/output error"* ]] || fail "$*, call $call: $(<log.txt)"
            failed=$((failed + 1))
        else
            { ((status == expected)) && cmp log.txt expected.txt; } || fail "$*, call $call: exit code $status: $(<log.txt)"
        fi
    done
    ((failed >= least)) || fail "$*: only $failed calls were seen to fail"
}

sweep 3 1 12 batch mnf --scenes in/s1.hdr --output 'out/{stem}.tif' --status
sweep 3 1 12 batch mnf --scenes list.txt --output 'out/{stem}.tif' --status
sweep 8 4 60 batch mnf --scenes in --recursive --output 'out/{stem}.tif' --status
sweep 8 4 60 batch mnf --scenes 'in/**' --output 'out/{stem}.tif' --status
sweep 8 4 60 batch chain.hcube --scenes in --output 'in/{stem}.tif' --status
sweep 8 4 60 batch mnf --scenes in --output 'out/{stem}.tif' --summary mine.csv --overwrite
sweep 2 1 10 info "$SAMPLE/library.sli"
