#!/usr/bin/env bash
# What scripts/product-watch finds: nothing in known granules, a damaged file, and layouts that the table lacks.
#
#   tests/scripts/product-watch.sh PROGRAM
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(realpath "${1:?"the program"}")
command -v python3 >/dev/null || {
    echo "skipped: python3 was not found"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# watch CODE FOLDER TEXT...: the exit code, and texts of what it prints.
watch() {
    local out code=0
    out=$("$root/scripts/product-watch" "$2" --program "$program" 2>&1) || code=$?
    [[ $code == "$1" ]] || { echo "exit code $code instead of $1: $out" >&2 && exit 1; }
    for text in "${@:3}"; do
        [[ $out == *"$text"* ]] || { echo "does not say '$text': $out" >&2 && exit 1; }
    done
}

scene=EMIT_L2A_RFL_001_20240501T101010_2412207_001.nc
"$program" info "$root/sample_data/$scene" >"$folder/info" 2>&1 || true
[[ $(<"$folder/info") == *"EMIT L2A reflectance"* ]] || {
    echo "skipped: GDAL has no netCDF driver"
    exit 77
}
mkdir -p "$folder/archive/day"
cp "$root/sample_data/$scene" "$folder/archive/day"
echo '{"type": "FeatureCollection", "stac_version": "1.0.0"}' >"$folder/archive/list.json"
watch 0 "$folder/archive" "1 x EMIT L2A reflectance (known: V001, V002)" "0 of 1 files with news"
head -c 20000 "$root/sample_data/$scene" >"$folder/archive/cut.nc"
echo '{"type": "Feature", "stac_version": "1.0.0", "id": "x", "assets": {}}' >"$folder/archive/item.json"
watch 1 "$folder/archive" "archive/cut.nc: " "archive/item.json: a STAC item" "2 of 3 files with news"
watch 4 "$folder/none" "none: is no folder"
program=$folder/none watch 4 "$folder/archive" "none: No such file"

granules=${HCUBE_GRANULES:-}
if [[ ! $granules ]]; then
    echo "skipped: HCUBE_GRANULES is not set (a folder of products)"
    exit 77
fi
watch 1 "$granules" "fake_EMIT_L2A.nc: its layout differs from that of EMIT L2A reflectance" "adds /band_indexed_var" \
    "fake_EMIT_L2B_MIN.nc: holds 5 rasters" "a file of EMIT, whose layout is not in the table" "1 x HICO L1B Lt"
