#!/usr/bin/env bash
# Measures `hcube batch` on synthetic scenes: against a shell loop of `hcube run`, against the floors of this machine
# (page cache, bus, writing), and on several GPUs against one.
#
#     bench/compare/batch.sh [HCUBE] [--size SAMPLESxLINESxBANDS] [--scenes N] [--files N] [--runs N] [--device cpu|gpu]
#                    [--jobs N[,N]] [--gpus N[,N]] [--no-loop] [--folder DIR] [-- CHAIN OF hcube batch]
#
# HCUBE is build/release/app/hcube unless given. --jobs are the counts of processes that are compared (for each GPU,
# with --gpus, which measures the first N GPUs of this machine together); 0 is what hcube takes by itself. The scenes
# are kept in DIR, ${TMPDIR:-/tmp} unless given, under names with their shape; the outputs go there, and are removed.
# --files N makes N files only; the other scenes are further names of these.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=bench/compare/measure.sh
. "$root/bench/compare/measure.sh"
hcube=$root/build/release/app/hcube
size=500x300x224
scenes=20
different=
runs=5
device=cpu
jobs=0
gpus=
loop=yes
folder=${TMPDIR:-/tmp}
chain=(mnf --components 20)

while (($#)); do
    case $1 in
    --files)
        (($# > 1)) || fail "$1 needs a value"
        different=$2
        shift 2
        ;;
    --size | --scenes | --runs | --device | --jobs | --gpus | --folder)
        (($# > 1)) || fail "$1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    --no-loop)
        loop=no
        shift
        ;;
    -h | --help)
        sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    --)
        shift
        chain=("$@")
        break
        ;;
    -*) fail "unknown option $1" ;;
    *)
        hcube=$1
        shift
        ;;
    esac
done
check_arguments
[[ $scenes =~ ^[1-9][0-9]*$ ]] || fail "--scenes must be a positive number, not '$scenes'"
different=${different:-$scenes}
[[ $different =~ ^[1-9][0-9]*$ ]] || fail "--files must be a positive number, not '$different'"
[[ $jobs =~ ^[0-9]+(,[0-9]+)*$ ]] || fail "--jobs must be numbers with commas between, not '$jobs'"
[[ $gpus =~ ^([1-9][0-9]*(,[1-9][0-9]*)*)?$ ]] || fail "--gpus must be numbers with commas between, not '$gpus'"
((${#chain[@]})) || fail "the chain is missing after --"

work=$(mktemp -d "$folder/hcube-batch.XXXXXX")
trap 'rm -rf -- "$work"' EXIT

# ---- the scenes ----

find_maker "${hcube%/*}/../bench/make_bench_scene"
kept=$folder/hcube-batch-$size
((different >= scenes)) || kept+=-$different-files
mkdir -p "$kept"
files=()
for ((s = 1; s <= scenes; s++)); do
    scene=$kept/scene$s.img
    files+=("$scene")
    of=$(((s - 1) % different + 1))
    if ((of < s)); then
        ln -f -- "$kept/scene$of.img" "$scene"
        ln -f -- "$kept/scene$of.hdr" "${scene%.img}.hdr"
    elif ! has_scene "$scene"; then
        make_scene "$scene" "$work/partial-$s.img" --seed "$s" >/dev/null &
        ((s % $(nproc) != 0)) || wait
    fi
    ((s != different)) || wait
done
wait
printf '%s\n' "${files[@]}" >"$work/list.txt"

# ---- measuring ----

clean() {
    rm -rf -- "$work/loop" "$work/batch" "$work/floor"
}

run_loop() {
    local scene
    mkdir -p "$work/loop"
    for scene in "${files[@]}"; do
        "$hcube" run --device "$device" --quiet read "$scene" ! "${chain[@]}" ! write "$work/loop/${scene##*/}"
    done
}

# run_batch GPUS JOBS: on the first GPUs, with that many processes; or on the CPU.
run_batch() {
    local how=()
    (($2 == 0)) || how=(--jobs "$2")
    local visible=${CUDA_VISIBLE_DEVICES:-0,1,2,3,4,5,6,7}
    CUDA_VISIBLE_DEVICES=$(cut -d, -f "1-$1" <<<"$visible") "$hcube" batch "${chain[@]}" --scenes "$work/list.txt" \
        --output "$work/batch/{stem}.img" --device "$device" "${how[@]}" --progress json
}

# The seconds that all scenes would take at the rate of their second half, in which processes and devices of a long archive have
# started.
steady() {
    sed -n 's/^{"event":"done".*"at_seconds":\([0-9.]*\),.*/\1/p' "$work/log.txt" | sort -g | awk '
        { at[NR] = $1 }
        END {
            half = int(NR / 2)
            printf "%.4f", (half > 0 ? (at[NR] - at[half]) / (NR - half) * NR : at[NR])
        }'
}

# at_once COUNT COMMAND: that many processes, which share the files out among them.
at_once() {
    local count=$1 number
    shift
    for ((number = 0; number < count; number++)); do
        "$@" "$count" "$number" &
    done
    wait
}

read_share() {
    local s share=()
    for ((s = $2; s < scenes; s += $1)); do
        share+=("${files[s]}")
    done
    ((${#share[@]} == 0)) || cat -- "${share[@]}" >/dev/null
}

# With the flush that a batch waits for too.
write_share() {
    local s
    mkdir -p "$work/floor"
    for ((s = $2; s < scenes; s += $1)); do
        dd if=/dev/zero of="$work/floor/$s" bs=4M iflag=count_bytes count=$((output_bytes / scenes)) conv=fsync status=none
    done
}

# row NAME BYTES TIME...: also sets `median`.
row() {
    local name=$1 bytes=$2 figures
    shift 2
    figures=$(spread 9 3 "$@")
    median=$(awk '{ print $2 }' <<<"$figures")
    printf '%-48s %s %9.2f\n' "$name" "$figures" "$(awk -v b="$bytes" -v s="$median" 'BEGIN { print b / s / 1e9 }')"
}

# quotient TEXT A B: adds A / B to what is said at the end.
quotient() {
    said+=$(printf '%-78s %9.2f' "$1" "$(awk -v a="$2" -v b="$3" 'BEGIN { print a / b }')")$'\n'
}

# floor NAME BYTES COMMAND...: a row; keeps the slowest in `slowest` and `slowest_name`.
slowest=0 slowest_name=
floor() {
    local name=$1 bytes=$2 times=() r
    shift 2
    for ((r = 0; r < runs; r++)); do
        measure "$@"
        times+=("$seconds")
        clean
    done
    row "floor: $name" "$bytes" "${times[@]}"
    keep_slowest "$name"
}
keep_slowest() {
    if awk -v a="$median" -v b="$slowest" 'BEGIN { exit !(a > b) }'; then
        slowest=$median slowest_name=$1
    fi
}

# The floor of the bus: what one GPU takes from pinned memory, times their number.
bus_floor() {
    "$hcube" bench --no-serial --only upload --device gpu --json - >"$work/upload.json"
    median=$(awk -v bytes=$input_bytes -v gpus="$1" '
        /"bytes_per_second"/ { gsub(/[^0-9.e+]/, "", $2); rate = $2 }
        END { printf "%.4f", bytes / rate / gpus }' "$work/upload.json")
    row "floor: bus to $1 GPU, by hcube bench" $input_bytes "$median"
    keep_slowest "bus"
}

input_bytes=$((scene_bytes * scenes))
read_share 1 0 # warms the cache
measure run_batch 1 1
output_bytes=$(cat "$work"/batch/*.img | wc -c)
clean

echo "machine   $(machine), load $(cut -d' ' -f1 /proc/loadavg)"
[[ $device == cpu ]] || echo "device    $("$hcube" devices | sed -n '2p') ($("$hcube" devices | grep -c '^gpu') in all)"
print_program
echo "scenes    $scenes of $samples samples x $lines lines x $bands bands, uint16 BIL, $((scene_bytes / 1000000)) MB each"
echo "command   hcube batch ${chain[*]} --device $device"
echo "outputs   $((output_bytes / scenes / 1000000)) MB each, in $folder ($(stat -f -c %T "$folder")); $runs runs in turn, warm cache"
echo
printf '%-48s %9s %9s %9s %9s\n' "" "min s" "median s" "max s" "GB/s"

# ---- loop and batch in turn, so that what else the machine does hits both ----

IFS=, read -ra job_counts <<<"$jobs"
IFS=, read -ra gpu_counts <<<"${gpus:-1}"
said=
one_gpu=()
for g in "${gpu_counts[@]}"; do
    loop_times=() batch_times=() steady_times=()
    for ((r = 0; r < runs; r++)); do
        if [[ $loop == yes && $g == 1 ]]; then
            measure run_loop
            loop_times+=("$seconds")
            clean
        fi
        for j in "${job_counts[@]}"; do
            measure run_batch "$g" $((g * j))
            batch_times[j]+=" $seconds"
            steady_times[j]+=" $(steady)"
            clean
        done
    done
    loop_median=
    if ((${#loop_times[@]})); then
        row "a shell loop of hcube run" $input_bytes "${loop_times[@]}"
        loop_median=$median
    fi
    on=
    [[ $device == cpu ]] || on=", $g GPU"
    slowest=0
    floor "page cache, $g at once" $input_bytes at_once "$g" read_share
    floor "writing and flushing, $g at once" "$output_bytes" at_once "$g" write_share
    [[ $device == cpu ]] || bus_floor "$g"
    for j in "${job_counts[@]}"; do
        name="--jobs $((g * j))$on"
        ((j > 0)) || name="as it is$on"
        # shellcheck disable=SC2086  # a list
        row "hcube batch $name" $input_bytes ${batch_times[j]}
        [[ -z $loop_median ]] || quotient "loop over batch $name" "$loop_median" "$median"
        # shellcheck disable=SC2086  # a list
        row "  at the rate of the second half" $input_bytes ${steady_times[j]}
        quotient "batch $name, second half, over $slowest_name" "$median" "$slowest"
        if ((g == 1)); then
            one_gpu[j]=$median
        elif [[ ${one_gpu[j]:-} ]]; then
            quotient "a GPU of $g over one alone, --jobs $j each" "${one_gpu[j]}" "$(awk -v m="$median" -v g="$g" 'BEGIN { print m * g }')"
        fi
    done
done
printf '\n%s' "$said"
