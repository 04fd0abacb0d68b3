# What the scripts that measure share; they source it. They set $root, and what is said of each function below.
# shellcheck shell=bash disable=SC2034,SC2154  # names that are set there, or used there

# A decimal point in every locale.
export LC_ALL=C

fail() {
    echo "bench/${0##*/}: $*" >&2
    exit 2
}

# Checks $size, $runs and $hcube; sets `samples`, `lines`, `bands` and the bytes of a scene, `scene_bytes`.
check_arguments() {
    [[ $size =~ ^([1-9][0-9]*)x([1-9][0-9]*)x([1-9][0-9]*)$ ]] || fail "--size must be SAMPLESxLINESxBANDS, not '$size'"
    samples=${BASH_REMATCH[1]} lines=${BASH_REMATCH[2]} bands=${BASH_REMATCH[3]}
    scene_bytes=$((samples * lines * bands * 2))
    [[ $runs =~ ^[1-9][0-9]*$ ]] || fail "--runs must be a positive number, not '$runs'"
    [[ -x $hcube && ! -d $hcube ]] || fail "$hcube: no such program; build it or name another as the first argument"
}

# ---- scenes: each made under another name, so that one that has its name is whole ----

# find_maker PROGRAM: sets `maker` to it, where it is there; else compiles it into $work.
find_maker() {
    maker=$1
    if [[ ! -x $maker ]]; then
        maker=$work/make_bench_scene
        "${CC:-cc}" -std=c17 -O3 -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -ffp-contract=off \
            "$root/bench/make_bench_scene.c" -o "$maker" -lm
    fi
}

has_scene() {
    [[ -f ${1%.img}.hdr && -f $1 && $(stat -c %s "$1") -eq $scene_bytes ]]
}

# make_scene SCENE PARTIAL [OPTION...]: by $maker, with its options.
make_scene() {
    local scene=$1 partial=$2
    shift 2
    "$maker" "$partial" "$lines" "$samples" "$bands" "$@"
    mv -- "${partial%.img}.hdr" "${scene%.img}.hdr"
    mv -- "$partial" "$scene"
}

# ---- measuring ----

# What stands before each command that is measured.
timer=()

# Runs a command and sets `seconds`. Its output goes to a log.
measure() {
    local start end status=0
    start=${EPOCHREALTIME/./}
    "${timer[@]}" "$@" >"$work/log.txt" 2>&1 || status=$?
    end=${EPOCHREALTIME/./}
    if ((status)); then
        cat "$work/log.txt" >&2
        fail "'$*' ended with status $status"
    fi
    seconds=$(awk -v us=$((end - start)) 'BEGIN { printf "%.4f", us / 1e6 }')
}

# spread WIDTH DIGITS VALUE...: prints minimum, median and maximum. Values may be "unknown", all of them.
spread() {
    local format="%$1.$2f"
    [[ $3 != unknown ]] || format="%$1s"
    printf '%s\n' "${@:3}" | sort -g | awk -v format="$format $format $format" '
        { value[NR] = $1 }
        END {
            middle = value[int((NR + 1) / 2)]
            if (NR % 2 == 0 && middle != "unknown") middle = (middle + value[NR / 2 + 1]) / 2
            printf format, value[1], middle, value[NR]
        }'
}

# ---- what is measured ----

machine() {
    local model
    model=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1 || true)
    echo "${model:-unknown processor}, $(nproc) cores, $(uname -sr)"
}

print_program() {
    echo "date      $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "program   $("$hcube" version 2>/dev/null | head -n 1 || true)"
}
