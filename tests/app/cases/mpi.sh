# One scene shared by the ranks of mpirun: the same bytes as one process writes.
run 0 version
if [[ $out == *"MPI none"* ]]; then
    echo "this hcube was built without MPI" >&2
    exit 77
fi
command -v mpirun >/dev/null || {
    echo "mpirun was not found" >&2
    exit 77
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# More ranks than processors, with Open MPI's own names for that.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# MPI keeps memory, and modules of it that are gone by the end hide where it came from.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0:verify_asan_link_order=0

# A launcher whose ranks this MPI does not know.
if [[ $out == *"MPI Open MPI v4"* ]]; then
    PMI_SIZE=2 PMI_RANK=0 run 6 filter "$scene" out.img # hwloc says more before it where there is no /sys
    [[ ${err##*$'\n'} == "hcube: "*"does not find the others"* ]] || fail "says $err"
    only
fi

# ranks COUNT STATUS WORD...: hcube with these words on COUNT ranks.
ranks() {
    local count=$1 expected=$2 status=0
    shift 2
    mpirun -n "$count" "$HCUBE" "$@" >"$folder".out 2>"$folder".err </dev/null || status=$?
    out=$(cat "$folder".out)
    err=$(cat "$folder".err)
    rm -f "$folder".out "$folder".err
    [[ $status == "$expected" ]] || fail "$count ranks: hcube $*: exit code $status instead of $expected: $err"
}

# lines: what hcube says of a failure, without what the launcher adds.
lines() {
    grep '^hcube: ' <<<"$err" || true
}

# Exact sums, both ways of writing, in all interleaves.
same "2 3 5" read "$scene" ! mnf --components 7 --save-model model.json ! write out.img ! write out.tif \
    ! preview picture.png --scree scree.png
same "3" read "$scene" ! cov noise.json --noise median3x3 ! cov choice.json --noise auto ! cov trimmed.json --noise trimmed ! cov columns.json --noise spatial-spectral-lower ! cov quad.json --noise quad ! cov all.json ! pca --components 3 ! write out.bil
same "2" read "$scene" ! filter median3x3 ! filter mean3x3 ! write out.bip --type int16 \
    ! write tiled.tif --co TILED=YES --co INTERLEAVE=PIXEL --compress deflate ! write cloud.tif --format COG
same "2 3" read "$scene" ! pca --components 6 ! rx --side 9 --guard 3 --detections local.gpkg ! write local.img
same "2 3" read "$scene" ! detect --method sam --target-at 25,40 --target-at 70,60 --detections found.gpkg --top 50 --false-alarm 0.003
same "2 3" read "$scene" ! detect --target-at 25,40 --target-at 70,60 --rates both ! write rates.img
same "3" read "$scene" ! pca --components 4 ! rx --side 9 --rates rank ! write ranks.img
same "3" read "$scene" ! rx --by classes="$SAMPLE/class.hdr" --shrink oas --rates rank ! write classes.img
same "2 3" read "$scene" ! detect --target-at 25,40 --by mask="$SAMPLE/class.hdr:1=2" --robust 1e-3 --shrink ledoit-wolf ! write score.img
# Sums of columns: ranks share panels of 128 lines, and some may have none.
run 0 run read "$scene" ! filter mean3x3 ! write part.bil
cat part.bil part.bil part.bil part.bil part.bil >tall.bil
sed 's/^lines *=.*/lines = 500/' part.hdr >tall.hdr
for columns in 1 3; do
    same "2 3 7" read "$PWD/tall.hdr" ! detect --method mf --target-at 25,40 --by columns=$columns ! write columns.img
done
rm part.* tall.*
same "2 3" read "$scene" ! endmembers found.sli --count 5 --csv found.csv --places found.gpkg --picture found.png \
    ! endmembers vca.sli --method vca --count 4 ! endmembers atgp.sli --method atgp --count 4
same "3" read "$scene" ! endmembers ppi.sli --method ppi --count 4 ! endmembers sisal.sli --method sisal --count 4
same "2 3" read "$scene" ! extract found.sli --labels "$SAMPLE/class.hdr" --each polygon --csv found.csv --places found.gpkg \
    --picture found.png --statistics table.csv
same "2 3" read "$scene" ! pca --components 6 ! kmeans --clusters 7 --distance --centres found.sli ! write out.img
# Every stage that needs no word, so new ones too.
tried=
run 0 stages
for stage in $(cut -d' ' -f1 <<<"$out"); do
    if "$HCUBE" plan read "$scene" ! "$stage" ! write out.img >/dev/null 2>&1; then
        tried+=" $stage"
        same "3" read "$scene" ! "$stage" ! write out.img
    fi
done
[[ $tried == *" filter"*" pca"*" denoise"*" rx"* ]] || fail "stages without words:$tried"
same "3" read "$scene" ! svd --side 8 --step 4 --noise estimate ! write out.img
same "2 3" read "$scene" ! denoise --stripes ! write out.img
same "2 3" read "$scene" ! denoise --stripes --columns 1 ! write out.img
same "2 3" read "$scene" ! noise noise.json --columns 7 ! denoise --stripes ! write out.img
same "2" read "$scene" ! noise noise.json --columns 7 --column-csv columns.csv ! write out.img
same "5" read "$scene" ! mnf --components 10 \
    ! knn --training "$SAMPLE/training.gpkg" --layer training --field class_name -k 3 --split 0.5 --report report.json \
    ! write classes.tif ! preview classes.png
same "3" read "$scene" ! classify --method ml --rules --confidence --training "$SAMPLE/training.gpkg" --layer training \
    --field class_name --split 0.5 --report report.json ! write classes.img
if "$HCUBE" plan classify "$scene" svm.img --method svm --training "$SAMPLE/class.hdr" >/dev/null 2>&1; then # built with libsvm
    same "3" read "$scene" ! classify --method svm --training "$SAMPLE/training.gpkg" --layer training --field class_name ! write classes.img
fi
same "2" read "$scene" ! mnf --components 5 --denoise --dark "$scene" ! write out.img

# A map: every rank has lines of the scene, and the first writes what the table makes of them.
header glt 110 120 2
printf "$(awk 'BEGIN { for (b = 0; b < 2; b++) for (y = 0; y < 120; y++) for (x = 0; x < 110; x++)
    printf "\\%03o\\000", b ? (y * 5 + x) % 101 : (x * 7 + y * 3) % 101 }')" >glt.img
sed -i 's/interleave = .*/interleave = bsq/' glt.hdr
same "2 3" read "$scene" ! mnf --components 4 ! write out.img --ortho="$folder/glt.hdr" \
    ! write out.tif --ortho="$folder/glt.hdr" ! preview picture.png --ortho="$folder/glt.hdr"
rm glt.hdr glt.img

# What is counted over the scene is that of all ranks. Some pixels have values missing in some bands or all.
sed 's/^reflectance scale factor.*/&\ndata ignore value = -9999/' "$scene" >holes.hdr
cp "$SAMPLE/scene.img" holes.img
for line in 3 40 41 77; do
    printf '\361\330%.0s' {1..900} | dd of=holes.img bs=1 seek=$((line * 12800 + 11000)) conv=notrunc status=none
done
counted=(pixels all masked masked_nodata unfinished_pixels largest_gap largest_error mean_abundance library_factor pivots
    not_proved_pixels worst)
# same_counts COUNT KEYS STEP...: the record of a chain has at least COUNT of the figures above, and on ranks the same.
same_counts() {
    local count=$1 keys=$2 figures
    shift 2
    mkdir one many
    (cd one && run 0 run --device cpu read "$folder/holes.hdr" ! "$@" ! write out.img)
    (cd many && ranks "$count" 0 run --device cpu read "$folder/holes.hdr" ! "$@" ! write out.img)
    cmp one/out.img many/out.img
    figures=$(IFS='|' && grep -E "\"(${counted[*]})\":" one/out.img.hcube.json | grep -v '{')
    (($(cut -d: -f1 <<<"$figures" | sort -u | wc -l) >= keys)) || fail "counts too little: $figures"
    # The last line of the figures is "all" seconds.
    diff <(grep -v '"all":.*\.' <<<"$figures") \
        <(IFS='|' && grep -E "\"(${counted[*]})\":" many/out.img.hcube.json | grep -v '{' | grep -v '"all":.*\.') ||
        fail "$* counts otherwise on $count ranks"
    rm -r one many
}
same_counts 3 7 unmix --library "$SAMPLE/library.sli" --top 3 --add rmse
same_counts 5 7 abundance --endmembers "$SAMPLE/library.sli" --residual --verify
same_counts 3 5 abundance --endmembers "$SAMPLE/library.sli" --norm l2 --sum one
same_counts 3 4 filter --kind shift --noise
rm holes.*

# The unit of the values is found in pixels of all ranks: here the first has none.
{
    head -c 640000 /dev/zero
    tail -c +640001 "$SAMPLE/scene.img"
} >half.img
sed '/scale factor/d' "$scene" >half.hdr
same "2" read "$folder/half.hdr" ! unmix --library "$SAMPLE/library.sli" --top 3 ! write out.img
rm half.*
run 0 noise "$scene" columns.json --columns 1
same "3" read "$scene" ! unmix --library "$SAMPLE/library.sli" --top 3 --lambda auto --noise-map "$folder/columns.json" ! write out.img
rm columns.json*

# A scene of floats: its sums are cut at the same lines for every number of ranks, here five times.
header raw 400 1501 6
for ((i = 1; i < 7; i++)); do
    tail -c +$((i * 1000 + 1)) "$SAMPLE/scene.img"
done >raw.img
truncate -s 7204800 raw.img
run 0 filter raw.hdr float.img --kind mean3x3 --device cpu
same "2 3 5" read "$folder/float.hdr" ! cov all.json ! mnf --components 4 --save-model model.json ! write out.img ! write out.tif
same "7" read "$folder/float.hdr" ! pca --save-model model.json ! preview picture.png --size 300
rm raw.* float.*

# More ranks than lines.
header flat 9 3 4
head -c 216 "$SAMPLE/scene.img" >flat.img
same "5" read "$folder/flat.hdr" ! filter median3x3 ! write out.img ! write out.tif
header wide 2000 3 4
head -c 48000 "$SAMPLE/scene.img" >wide.img
same "5" read "$folder/wide.hdr" ! filter median3x3 ! mnf --save-model model.json ! write out.img ! write out.tif
rm wide.*

# dying.sh: one rank is killed in front of its fourth change to temporary files: it has begun an output.
cat >dying.sh <<'DYING'
if [[ $OMPI_COMM_WORLD_RANK == "$DYING" ]]; then
    export HCUBE_KILL_NAME=.partial HCUBE_KILL_AT=4 HCUBE_KILL_WRITES=1 LD_PRELOAD=$KILL_AT
fi
exec "$@"
DYING
export KILL_AT=$MODULES/kill_at.so

# Scenes of a batch go to the ranks as these become free, each to one of them; what is complete is not done again.
mkdir scenes out
for name in a b c d e f; do
    ln -s "$SAMPLE/scene.img" "scenes/$name.img"
    cp "$scene" "scenes/$name.hdr"
done
echo "not a header" >scenes/bad.hdr
run 0 mnf "$scene" one.img --components 3 --device cpu
batch=(batch mnf --components 3 --scenes 'scenes/*.hdr' --output 'out/{stem}.img' --device cpu)
ranks 3 9 "${batch[@]}"
[[ $(grep -c '\] wrote ' <<<"$err") == 6 && $(grep -c '[0-9] 7 scenes in .*: 6 done, 0 complete before, 1 failed' <<<"$err") == 1 ]] || fail "$err"
[[ $(lines) == "hcube: batch: 1 of 7 scenes failed" ]] || fail "$err"
for name in a b c d e f; do
    cmp one.img "out/$name.img"
done
ranks 2 10 "${batch[@]}"
[[ $err == *"0 done, 6 complete before, 0 failed, 1 failed before"* ]] || fail "$err"
# The summary adds up what the ranks did: 100 lines x 100 samples x 59 bands of two bytes a scene.
rm -r out
ranks 3 9 "${batch[@]}" --progress json
summary=$(grep '"event":"summary"' <<<"$err")
[[ $(wc -l <<<"$summary") == 1 && $summary == *'"done":6,'*'"failed":1,'*'"bytes":7080000,'* ]] || fail "$err"
total=0
for bytes in $(grep -o '"device":"[^"]*","scenes":[0-9]*,"bytes":[0-9]*' <<<"$summary" | sed 's/.*://'); do
    total=$((total + bytes))
done
((total == 7080000)) || fail "bytes of the devices: $summary"
# A rank that dies ends its job; the next one does what it has left.
for dying in 0 1; do
    rm -r out
    DYING=$dying mpirun -n 3 bash dying.sh "$HCUBE" "${batch[@]}" --jobs 1 >/dev/null 2>&1 || true
    rm -f out/*.hcube-failed.json # of the scene that fails: one of the ranks may have come to it
    ranks 2 9 "${batch[@]}"
    for name in a b c d e f; do
        cmp one.img "out/$name.img"
    done
    (cd out && [[ $(entries) != *.partial* && $(entries) != *claim* ]]) || fail "left $(cd out && entries)"
done
rm -r scenes out one.*

# A failure of one rank is one line and leaves nothing; so is one of all.
rm flat.*
header large 1000 3000 60
: >large.img
truncate -s 360000000 large.img
cat >limited.sh <<'LIMITED'
[[ $OMPI_COMM_WORLD_RANK != 2 ]] || ulimit -f 200000
exec "$@"
LIMITED
for name in out.img out.tif; do
    status=0
    mpirun -n 3 bash limited.sh "$HCUBE" run --device cpu read large.hdr --source-nodata none ! write "$name" --type float32 2>../"${folder##*/}".err ||
        status=$?
    err=$(cat ../"${folder##*/}".err)
    rm ../"${folder##*/}".err
    [[ $status == 4 && $(lines) == "hcube: rank 2 of 3: $name: File too large" ]] || fail "$name: $status: $err"
    only dying.sh large.hdr large.img limited.sh
done
ranks 3 3 run read missing.hdr ! write out.img
[[ $(lines | wc -l) == 1 && $err == *missing.hdr* ]] || fail "$err"
ranks 3 2 filter large.hdr large.img
[[ $(lines | wc -l) == 1 ]] || fail "$err"
ranks 3 0 info large.hdr
[[ $(grep -c samples <<<"$out") == 1 ]] || fail "$out"

# A rank that dies takes the job with it, and no file has its name.
for dying in 0 1; do
    status=0
    DYING=$dying mpirun -n 3 bash dying.sh "$HCUBE" run --threads 1 --device cpu read large.hdr --source-nodata none ! filter median3x3 \
        ! filter median3x3 ! filter median3x3 ! write out.img ! write out.tif >/dev/null 2>err.txt || status=$?
    [[ $status != 0 && ! -e out.img && ! -e out.hdr && ! -e out.tif ]] || fail "status $status: $(entries)"
    # The launcher says it, and no rank says anything else than that it was told to end.
    # Newer launchers break their lines.
    [[ $(tr -s '\n ' ' ' <err.txt | grep -o "process rank $dying [^.]*exited on signal 9" | wc -l) == 1 ]] || fail "$(cat err.txt)"
    ! grep '^hcube: ' err.txt | grep -v interrupted || fail "$(cat err.txt)"
    rm -rf .out.*
done

# Ranks that were asked for different things. `mpirun -n 1 A : -n 1 B` would start them, but the launcher of Open MPI 5.0.7 in
# Debian 13 crashes on it, whatever A and B are (issue 13303 of Open MPI). Here each rank names an output of its own.
cat >differing.sh <<'DIFFERING'
exec "$@" "rank$OMPI_COMM_WORLD_RANK.img"
DIFFERING
status=0
mpirun -n 2 bash differing.sh "$HCUBE" filter "$scene" >/dev/null 2>err.txt || status=$?
err=$(cat err.txt)
[[ $status == 2 && $(lines) == "hcube: rank 1"*"another command line"* && ! -e rank0.img && ! -e rank1.img ]] ||
    fail "$status: $err"

# The devices of a host are taken in turn, one by each rank; gpu:N is for all of them.
if [[ -e $MODULES/stand_in.so ]]; then
    export HCUBE_GPU_MODULE=$MODULES/stand_in.so HCUBE_STAND_IN=3
    # devices WORD: what each of five ranks computed on.
    devices() {
        ranks 5 0 run --device "$1" read "$scene" ! mnf --components 3 ! write out.img --overwrite
        grep -o '"device":[[:space:]]*"stand-in [0-9]' out.img.hcube.json | grep -o '[0-9]$' | tr -d '\n'
    }
    run 0 run --device gpu read "$scene" ! mnf --components 3 ! write one.img
    [[ $(devices auto) == 01201 && $(devices gpu) == 01201 ]] || fail "devices $(devices gpu)"
    [[ $(devices gpu:2) == 22222 ]] || fail "devices $(devices gpu:2)"
    cmp one.img out.img
    ranks 2 7 run --device gpu:3 read "$scene" ! write none.img
    [[ $(lines | wc -l) == 1 && ! -e none.img ]] || fail "$err"
    # One rank without its device: the others do not wait for it.
    cat >blind.sh <<'BLIND'
[[ $OMPI_COMM_WORLD_RANK != 1 ]] || export HCUBE_GPU_MODULE=/nonexistent
exec "$@"
BLIND
    status=0
    mpirun -n 3 bash blind.sh "$HCUBE" run --device gpu read "$scene" ! mnf ! write none.img 2>err.txt || status=$?
    err=$(cat err.txt)
    [[ $status == 7 && $(lines) == "hcube: rank 1 of 3: --device gpu: "*/nonexistent* && ! -e none.img ]] || fail "$status: $err"
fi
