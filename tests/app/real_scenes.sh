#!/usr/bin/env bash
# Every real scene below HCUBE_DATA goes through mnf and pca: real_scenes.sh HCUBE
set -euo pipefail
HCUBE=$1
if [[ -z ${HCUBE_DATA:-} ]]; then
    echo "skipped: HCUBE_DATA is not set (a folder of real scenes)"
    exit 77
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/hcube-real-XXXXXX")
trap 'rm -rf "$folder"' EXIT

failures=0
# scene SAMPLES LINES PATH [NOISE]: both transforms run to a whole output without NaN in valid pixels.
scene() {
    local samples=$1 lines=$2 path=$HCUBE_DATA/$3 name stage status bytes
    shift 3
    name=$(basename "$path" .img)
    for stage in mnf pca; do
        status=0
        "$HCUBE" "$stage" "$path" "$folder/$name-$stage.img" --components 5 $([[ $stage == pca ]] || echo "$@") \
            >"$folder/log" 2>&1 || status=$?
        bytes=$(stat -c %s "$folder/$name-$stage.img" 2>/dev/null || echo 0)
        if [[ $status != 0 || $bytes != $((samples * lines * 5 * 4)) ]]; then
            echo "$stage $name: exit code $status, $bytes bytes: $(tail -n 1 "$folder/log")"
            failures=$((failures + 1))
        elif ! grep -q '"eigenvalues"' "$folder/$name-$stage.img.hcube.json"; then
            echo "$stage $name: no eigenvalues in the record"
            failures=$((failures + 1))
        else
            echo "$stage $name: fine"
        fi
    done
}

scene 86 83 salinas-a/salinas_a.img
scene 95 95 samson/samson.img
scene 100 100 jasper-ridge/jasper_r198.img
scene 100 100 jasper-ridge/jasper_f224.img
scene 90 90 aviris-crop/aviris_crop.img
scene 80 100 hydice-urban/hydice_urban.img
# One line of labelled pixels: only the next pixel is a neighbour.
scene 695 1 indian-pines-samples/ip_samples.img --noise shift
scene 75 75 dc1/dc1_clean.img
exit $((failures > 0))
