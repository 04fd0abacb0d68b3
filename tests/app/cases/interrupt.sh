# Signals during a run end it with 130 and leave nothing.
header large 1000 3000 120
: >large.img
truncate -s 720000000 large.img
# interrupt SIGNAL DEVICE PAUSE
interrupt() {
    "$HCUBE" run --threads 1 --device "$2" read large.hdr --ignore-nodata ! filter median3x3 ! filter median3x3 ! write out.img ! preview p.png 2>err.txt &
    process=$!
    for ((i = 0; i < 200; i++)); do
        # Wait until the output has begun.
        [[ -z $(find . -name '*.partial' -print -quit) ]] || break
        sleep 0.05
    done
    sleep "$3"
    kill -s "$1" "$process"
    status=0
    wait "$process" || status=$?
    [[ $status == 130 ]] || fail "exit code $status after SIG$1 on $2: $(cat err.txt)"
    [[ $(cat err.txt) == *interrupted* ]]
    only large.hdr large.img err.txt
}
for signal in INT TERM HUP PIPE USR1 USR2 ALRM XCPU PROF VTALRM; do
    interrupt "$signal" cpu 0.2
done
# start_large: a run of the large scene that has begun with its output.
start_large() {
    "$HCUBE" run --threads 1 --device cpu read large.hdr --ignore-nodata ! filter median3x3 ! filter median3x3 ! write out.img 2>err.txt &
    process=$!
    until [[ -n $(find . -name '*.partial' -print -quit) ]]; do sleep 0.05; done
}
# Signals that come again and again, as that of the limit of time does, do not end the clean-up.
start_large
while kill -s XCPU $process 2>/dev/null; do :; done
status=0
wait $process || status=$?
[[ $status == 130 ]] || fail "exit code $status after many SIGXCPU: $(cat err.txt)"
only large.hdr large.img err.txt
# With nohup a hangup does not count.
trap '' HUP
start_large
trap - HUP
ignored=$(sed -n 's/^SigIgn:[[:blank:]]*//p' /proc/$process/status)
((0x$ignored & 1)) || fail "SIGHUP is caught although it was ignored: $ignored"
# What a killed run has left is removed by the next one of the same output; what other hosts make is not.
kill -s KILL $process
wait $process 2>/dev/null || true
left=$(echo .out.img.*.partial)
[[ -d $left ]] || fail "no temporary folder: $(entries)"
elsewhere=${left%-*-*-*.partial}-00000001-00000002-00000003.partial
mkdir "$elsewhere" && : >"$elsewhere/out.img"
# A process that lives, here this shell.
ours=.out.img.$$-1-$(awk '{ sub(/.*\) /, ""); print $20 }' /proc/$$/stat)-${left#.out.img.*-*-*-}
mkdir "$ours"
run 0 bands "$scene" out.img --keep 1
only large.hdr large.img err.txt out.img out.hdr out.img.hcube.json "$elsewhere" "$elsewhere/out.img" "$ours"
rm -r "$elsewhere" "$ours" out.*
# Without descriptors there is a failure, and nothing is left.
for count in 5 6; do
    status=0
    (ulimit -n $count && exec "$HCUBE" run --device cpu read "$scene" ! mnf --components 2 ! write out.tif ! preview p.png) \
        >/dev/null 2>err.txt || status=$?
    [[ $status == 4 ]] || fail "exit code $status with $count descriptors: $(cat err.txt)"
    only large.hdr large.img err.txt
done
# A GPU may be done in half a second, so its turn is short.
if "$HCUBE" devices | grep '^gpu' | grep -qv ' none: '; then
    interrupt INT gpu 0
fi
export HCUBE_GPU_MODULE=$MODULES/stand_in.so
interrupt TERM gpu 0.2
