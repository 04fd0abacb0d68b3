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
for signal in INT TERM HUP; do
    interrupt "$signal" cpu 0.2
done
# A GPU may be done in half a second, so its turn is short.
if "$HCUBE" devices | grep '^gpu' | grep -qv ' none: '; then
    interrupt INT gpu 0
fi
export HCUBE_GPU_MODULE=$MODULES/stand_in.so
interrupt TERM gpu 0.2
