# For cases that decide by calls of the program what happens when, and not by the clock: pause_at.so stops it there.
# begin PATTERNS WORD...: starts hcube, which pauses at calls of these patterns (pause_at.c). $process is its number.
# Its standard output is a pipe that ends when its last worker does.
mkfifo events events.{1,2}
exec 7<>events
process=
trap 'status=$?; [[ ! $process ]] || kill -KILL $process; rm -rf "$folder"; exit $status' EXIT
begin() {
    local patterns=$1
    shift
    {
        (
            trap - ERR
            HCUBE_PAUSE=events HCUBE_PAUSE_AT=$patterns LD_PRELOAD=$MODULES/pause_at.so "$HCUBE" "$@" 2>log.txt 7>&- &
            echo "begun $!" >&7
            status=0
            wait $! 2>/dev/null || status=$?
            echo "ended $status" >&7
        ) | cat >/dev/null
    } &
    gone=$!
    next begun
    process=$number
}
# next EVENT: waits for what comes next: the number of a pattern, or ended. $number is the process, or its exit code.
next() {
    local event
    read -r event number <&7
    [[ $event == "$1" ]] || fail "event $event $number instead of $1: $(cat log.txt)"
}
go_on() {
    echo >events."$1"
}
ended() {
    next ended
    process=
    wait "$gone"
    [[ $number == "$1" ]] || fail "exit code $number instead of $1: $(cat log.txt)"
}
