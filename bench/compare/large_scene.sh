#!/usr/bin/env bash
# Measures one large scene on some ranks, a GPU each: the bench scene again and again, one below the other.
#
#     bench/compare/large_scene.sh [HCUBE] [--times N] [--ranks N[,N]] [--start ranks|mpirun|both] [--device cpu|gpu] [--runs N]
#                    [--folder DIR] [--against HCUBE] [-- STAGES BETWEEN read AND write]
#
# HCUBE is build/release/app/hcube unless given; --against is another program, run in turn with it. The scene has N times
# 299 MB (336 make 100 GB) and is made in DIR, /dev/shm unless given, with the outputs; all are removed. --start says
# who starts the ranks: hcube run --ranks, mpirun, or each in turn. The outputs of all runs must have the same bytes.
# A first run is not measured.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=bench/compare/measure.sh
. "$root/bench/compare/measure.sh"
hcube=$root/build/release/app/hcube
against=
size=614x1087x224
times=8
ranks=1
start=ranks
device=gpu
runs=2
folder=/dev/shm
chain=(mnf --components 20)

while (($#)); do
    case $1 in
    --times | --ranks | --start | --device | --runs | --folder | --against)
        (($# > 1)) || fail "$1 needs a value"
        declare "${1#--}=$2"
        shift 2
        ;;
    -h | --help)
        sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
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
[[ -z $against || (-x $against && ! -d $against) ]] || fail "--against $against: no such program"
[[ $times =~ ^[1-9][0-9]*$ ]] || fail "--times must be a positive number, not '$times'"
[[ $ranks =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] || fail "--ranks must be numbers with commas between, not '$ranks'"
case $start in
ranks | mpirun) starts=("$start") ;;
both) starts=(ranks mpirun) ;;
*) fail "--start must be ranks, mpirun or both, not '$start'" ;;
esac
((${#chain[@]})) || fail "the stages are missing after --"

work=$(mktemp -d "$folder/hcube-large.XXXXXX")
trap 'rm -rf -- "$work"' EXIT

# ---- the scene ----

find_maker "${hcube%/*}/../bench/make_bench_scene"
make_scene "$work/one.img" "$work/partial.img"
truncate -s $((scene_bytes * times)) "$work/scene.img"
seq 0 $((times - 1)) | xargs -P "$(nproc)" -I{} dd if="$work/one.img" of="$work/scene.img" bs=$scene_bytes seek={} \
    conv=notrunc status=none
sed "s/^lines = .*/lines = $((lines * times))/" "$work/one.hdr" >"$work/scene.hdr"

# ---- measuring ----

# A whole run of PROGRAM by N ranks, which --ranks or mpirun starts.
run_scene() {
    local program=$1 count=$2 by=$3 launch=() words=() visible=${CUDA_VISIBLE_DEVICES:-0,1,2,3,4,5,6,7}
    if ((count > 1)) && [[ $by == mpirun ]]; then
        launch=(mpirun -n "$count" --oversubscribe --bind-to none)
        ((EUID != 0)) || launch+=(--allow-run-as-root)
    elif ((count > 1)); then
        words=(--ranks "$count")
    fi
    CUDA_VISIBLE_DEVICES=$(cut -d, -f "1-$count" <<<"$visible") "${launch[@]}" "$program" run --device "$device" "${words[@]}" \
        --record "$work/record.json" --overwrite read "$work/scene.img" ! "${chain[@]}" ! write "$work/out.img"
}

# Figures of the record: the run, writing, and its passes [s].
figures() {
    sed -n '/^\t"seconds"/,/^\t}/s/.*"\(all\|writing\)":[[:space:]]*\([0-9.e+-]*\).*/\1 \2/p' "$work/record.json" | awk '
        $1 == "all" && !run { run = $2; next }
        $1 == "writing" && !found { found = 1; writing = $2; next }
        $1 == "all" { passes = passes sprintf(" %.2f", $2) }
        END { printf "%8.2f %8.2f  %s", run, writing, passes }'
}

keep_bytes() {
    if [[ -e $work/kept.img ]]; then
        cmp -- "$work/out.img" "$work/kept.img" || fail "the outputs of two runs differ"
    else
        mv -- "$work/out.img" "$work/kept.img"
    fi
    rm -f -- "$work"/out.* "$work/record.json"
}

echo "machine   $(machine), load $(cut -d' ' -f1 /proc/loadavg)"
[[ $device == cpu ]] || echo "device    $("$hcube" devices | sed -n '2p') ($("$hcube" devices | grep -c '^gpu') in all)"
print_program
echo "scene     $((lines * times)) lines x $samples samples x $bands bands, uint16 BIL, $((scene_bytes * times / 1000000)) MB"
echo "command   hcube run read SCENE ! ${chain[*]} ! write OUT --device $device, in $folder ($(stat -f -c %T "$folder"))"
echo
printf '%-28s %8s %8s %8s  %s\n' "" "whole s" "run s" "writing" "passes"
IFS=, read -ra counts <<<"$ranks"
# What a virtual machine has not used before comes to it slowly: a first run and a file as large as its output use it.
measure run_scene "$hcube" "${counts[0]}" "${starts[0]}"
keep_bytes
head -c "$(stat -c %s "$work/kept.img")" /dev/zero >"$work/touched"
rm "$work/touched"
for count in "${counts[@]}"; do
    for ((r = 0; r < runs; r++)); do
        for program in ${against:+"$against"} "$hcube"; do
            for by in "${starts[@]}"; do
                name="$count ranks"
                ((count == 1)) || name+=" by $by"
                [[ $program == "$hcube" ]] || name+=", --against"
                ((count > 1)) || [[ $by == "${starts[0]}" ]] || continue
                measure run_scene "$program" "$count" "$by"
                printf '%-28s %8.2f %s\n' "$name" "$seconds" "$(figures)"
                keep_bytes
            done
        done
    done
done
