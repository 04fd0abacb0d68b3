# Signals during a run end it with 130 and leave nothing.
header large 1000 3000 120
: >large.img
truncate -s 720000000 large.img
for signal in INT TERM HUP; do
    "$HCUBE" run --threads 1 read large.hdr --ignore-nodata ! filter median3x3 ! filter median3x3 ! write out.img ! preview p.png 2>err.txt &
    process=$!
    for ((i = 0; i < 200; i++)); do
        # Wait until the output has begun.
        [[ -z $(find . -name '*.partial' -print -quit) ]] || break
        sleep 0.05
    done
    sleep 0.2
    kill -s "$signal" "$process"
    status=0
    wait "$process" || status=$?
    [[ $status == 130 ]] || fail "exit code $status after SIG$signal: $(cat err.txt)"
    [[ $(cat err.txt) == *interrupted* ]]
    only large.hdr large.img err.txt
done
