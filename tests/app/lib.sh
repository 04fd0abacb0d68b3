# What the cases share. HCUBE is the program, SAMPLE the folder of the sample scene, MODULES that of the modules that
# stand in for a GPU. Cases hold with and without a GPU: what is said of the CPU is asked of --device cpu.
set -Eeuo pipefail
scene=$SAMPLE/scene.hdr
export COLUMNS=10000 # help in whole lines

show_last() {
    for file in "$folder".out "$folder".err; do
        [[ ! -s $file ]] || { echo "-- ${file##*.}" && head -n 20 "$file"; } >&2
    done
}

fail() {
    echo "failed: $*" >&2
    show_last
    exit 1
}

# run STATUS WORD...: hcube with these words ends with that exit code; what it prints is in $out and $err.
run() {
    local expected=$1 status=0
    shift
    "$HCUBE" "$@" >"$folder".out 2>"$folder".err </dev/null || status=$?
    out=$(cat "$folder".out)
    err=$(cat "$folder".err)
    rm -f "$folder".out "$folder".err
    if [[ $status != "$expected" ]]; then
        fail "hcube $*: exit code $status instead of $expected${err:+: $err}"
    fi
}

# holds TEXT WORDS: TEXT holds the key words "file.csv ... line 3 ... 'red'" in that order, whatever stands between them. So a
# case fails without the file, the place or the value, and a sentence may still be written better.
holds() {
    local text=$1 rest="$2 ... " part
    while [[ $rest ]]; do
        part=${rest%% ... *}
        [[ $text == *"$part"* ]] || return 1
        text=${text#*"$part"}
        rest=${rest#*" ... "}
    done
}

# refuse STATUS PART WORD...: hcube fails with that code and one line on standard error that holds the key words of PART.
refuse() {
    local status=$1 part=$2
    shift 2
    run "$status" "$@"
    err=$(sed '/^note: /d' <<<"$err") # remarks on the scene may come before
    { [[ $err == "hcube: "* ]] && holds "${err#hcube: }" "$part"; } || fail "hcube $*: says '$err' and not '$part'"
    [[ $err != *$'\n'* ]] || fail "hcube $*: says more than a line: $err"
}

# The program was built with AddressSanitizer or ThreadSanitizer, whose own memory counts too. (No `grep -q` behind a pipe:
# it ends at the first match, the command in front dies of SIGPIPE, and pipefail turns the answer round.)
sanitized() {
    [[ $(nm -D "$HCUBE" 2>/dev/null) =~ __[at]san_init ]]
}

# serve COMMAND...: a server, which writes its port into the file `port`, runs until the case ends; sets server and port.
serve() {
    "$@" &
    server=$!
    trap 'status=$?; kill $server 2>/dev/null || true; rm -rf "$folder"; exit $status' EXIT
    for ((i = 0; i < 500; i++)); do
        [[ ! -s port ]] || break
        sleep 0.02
    done
    port=$(cat port)
}

# Entries of the folder, hidden ones too, in one line.
entries() {
    find . -mindepth 1 | LC_ALL=C sort | tr '\n' ' '
}

# Files that may be there and no others, but for the style of a raster that is among them.
only() {
    local expected found file name
    expected=$(printf './%s\n' "$@" | LC_ALL=C sort | tr '\n' ' ')
    [[ $# -gt 0 ]] || expected=
    found=$(entries)
    for file in "$@"; do
        name=${file%.*}
        [[ " $* " == *" $name.qml "* || $file != *.@(tif|img|bsq|bil|bip|dat) ]] || found=${found/.\/$name.qml /}
    done
    [[ $found == "$expected" ]] || fail "found $found, expected $expected"
}

# header NAME SAMPLES LINES BANDS [TYPE [INTERLEAVE]]: an ENVI header.
header() {
    printf 'ENVI\nsamples = %d\nlines = %d\nbands = %d\nheader offset = 0\nfile type = ENVI Standard\ndata type = %d\ninterleave = %s\nbyte order = 0\n' \
        "$2" "$3" "$4" "${5:-12}" "${6:-bil}" >"$1.hdr"
}

# same COUNTS STEP...: the chain with `write OUT` makes the same bytes on one process and on each count of ranks. The case says
# how these are started: ranks COUNT STATUS COMMAND WORD...
same() {
    local counts=$1 count file wrote
    shift
    mkdir one
    (cd one && run 0 run --device cpu "$@" && echo "$err" >../one.err)
    wrote=$(grep -c '^wrote ' one.err)
    for count in $counts; do
        mkdir many
        cd many
        ranks "$count" 0 run --device cpu "$@"
        cd ..
        for file in one/*; do
            [[ $file == *.hcube.json ]] || cmp "$file" "many/${file#one/}"
        done
        [[ $(ls -A one) == "$(ls -A many)" ]] || fail "$count ranks left $(ls -A many), one process $(ls -A one)"
        for file in many/*.hcube.json; do
            (($(grep -c first_line_from_0 "$file") == count)) || fail "$file tells of other than $count ranks"
        done
        # The first rank alone speaks.
        [[ $(grep -c '^wrote ' <<<"$err") == "$wrote" && $(grep -c '^done in ' <<<"$err") == 1 ]] || fail "$count ranks say $err"
        rm -r many
    done
    rm -r one one.err
}
