# Signals during a run end it with 130 and leave nothing.
header large 1000 3000 120
: >large.img
truncate -s 720000000 large.img
large=(read large.hdr --source-nodata none ! filter median3x3 ! filter median3x3 ! write out.img)
# What happens when is decided by calls of the program (pause_at.so), and not by the clock.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
mkfifo events events.1
exec 7<>events
# begin CALL WORD...: a run that pauses at that call (pause_at.c). $process is its number.
begin() {
    local call=$1 number paused
    shift
    HCUBE_PAUSE=events HCUBE_PAUSE_AT=$call LD_PRELOAD=$MODULES/pause_at.so "$HCUBE" run --threads 1 "$@" 2>err.txt 7>&- &
    process=$!
    read -r number paused <&7
    [[ $number == 1 && $paused == "$process" ]] || fail "event $number of $paused: $(cat err.txt)"
}
go_on() {
    echo >events.1
}
# interrupted WHEN: the run ends with 130 and leaves nothing.
inputs=(large.hdr large.img err.txt events events.1)
interrupted() {
    status=0
    wait "$process" || status=$?
    [[ $status == 130 ]] || fail "exit code $status after $1: $(cat err.txt)"
    [[ $(cat err.txt) == *interrupted* ]] || fail "says $(cat err.txt)"
    only "${inputs[@]}"
}
# interrupt SIGNAL DEVICE: while the output is begun.
interrupt() {
    begin 'mkdir *.out.img.*.partial' --device "$2" "${large[@]}" ! preview p.png
    kill -s "$1" "$process"
    go_on
    interrupted "SIG$1 on $2"
}
for signal in INT TERM HUP PIPE USR1 USR2 ALRM XCPU PROF VTALRM; do
    interrupt "$signal" cpu
done
# Signals that come again and again, as that of the limit of time does, do not end the clean-up. They come in the middle of
# the run, too.
begin 'mkdir *.out.img.*.partial' --device cpu "${large[@]}"
go_on
while kill -s XCPU "$process" 2>/dev/null; do :; done
interrupted "many SIGXCPU"
# With nohup a hangup does not count.
trap '' HUP
begin 'link *out.hdr' --device cpu --record none read "$scene" ! write out.img
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
only "${inputs[@]}" out.img out.hdr out.img.hcube.json "$elsewhere" "$elsewhere/out.img" "$ours"
rm -r "$elsewhere" "$ours" out.*
# Without descriptors there is a failure, and nothing is left.
for count in 5 6; do
    status=0
    (ulimit -n $count && exec "$HCUBE" run --device cpu read "$scene" ! mnf --components 2 ! write out.tif ! preview p.png) \
        >/dev/null 2>err.txt || status=$?
    [[ $status == 4 ]] || fail "exit code $status with $count descriptors: $(cat err.txt)"
    only "${inputs[@]}"
done
if [[ $("$HCUBE" devices | grep '^gpu') != *' none: '* ]]; then
    interrupt INT gpu
fi
export HCUBE_GPU_MODULE=$MODULES/stand_in.so
interrupt TERM gpu
