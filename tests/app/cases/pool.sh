# batch --pool: one model for all scenes of a list, whoever sums them and however often it is begun.
line=$((100 * 64 * 2)) # bytes of a line of the sample scene (bands interleaved by line)
# cut_scene NAME FIRST COUNT: some lines of the sample scene.
cut_scene() {
    sed "s/^lines *=.*/lines = $3/; s/^map info.*//; s/^coordinate system.*//" "$scene" >"$1.hdr"
    dd if="$SAMPLE/scene.img" of="$1.img" bs=$line skip="$2" count="$3" status=none
}
# events NAME: how often that event is in $err.
events() {
    grep -c "^{\"event\":\"$1\"" <<<"$err" || true
}
lines=$(sed -n 's/^lines *= *//p' "$scene")
mkdir in
cut_scene in/a 0 30
cut_scene in/b 30 11
cut_scene in/c 41 $((lines - 41))
scenes=(--scenes in --output 'out/{stem}.bil' --device cpu)

# Scenes that are lines of one scene have its model, to the last bit, and their outputs are its lines. What looks
# at neighbouring lines sees fewer of them at the cuts.
for fit in "pca --components 5" "pca --components 5 --correlation" "mnf --min-eigenvalue 1.5 --noise shift" \
    "mnf --components 4 --noise regression" "mnf --components 4 --noise auto" "mnf --components 4 --noise regression --noise-matrix full" \
    "mnf --components 4 --noise spatial-spectral"; do
    run 0 run read "$scene" ! $fit --save-model whole.json ! write whole.bil --device cpu
    run 0 batch $fit "${scenes[@]}" --pool pooled.json
    [[ $err == *"pooled.json:"*"3 scenes, 0 left out, "* ]] || fail "$err"
    cmp whole.json pooled.json
    cat out/a.bil out/b.bil out/c.bil | cmp - whole.bil
    run 0 batch $fit "${scenes[@]}" --pool pooled.json --progress json
    [[ $(events skipped) == 6 && $(events done) == 0 ]] || fail "$fit: a complete batch is begun again: $err"
    rm -r out whole.*
done
rm -r pooled.json*

run 2 batch denoise --stripes "${scenes[@]}" --pool pooled.json
[[ $err == *"batch: --stripes: --pool"*"each has its own"* ]] || fail "$err"
run 2 batch denoise --columns 1 "${scenes[@]}" --pool pooled.json
[[ $err == *"batch: --columns: --pool"*"each has its own"* ]] || fail "$err"

# Steps before the fit are part of it, those that write only once; options of the use are none of the fit.
cat >chain.hcube <<'CHAIN'
bands --keep 3-40 ! write seen/{stem}.img ! mnf --components 9 --noise shift ! preview seen/{stem}.png ! write
CHAIN
mkdir seen
run 0 run read "$scene" ! bands --keep 3-40 ! mnf --fit-only --save-model whole.json --noise shift --device cpu
run 0 batch chain.hcube --scenes in --output 'out/{stem}.bil' --device cpu --pool pooled.json
cmp whole.json pooled.json
[[ $(ls seen/*.img seen/*.png | wc -l) == 6 ]]
stamp=$(stat -c '%i %y' pooled.json.sums/*.json)
sed -i 's/--components 9/--components 4 --denoise/' chain.hcube
run 0 batch chain.hcube --scenes in --output 'out/{stem}.bil' --device cpu --pool pooled.json --progress json --overwrite
[[ $(events done) == 3 && $stamp == "$(stat -c '%i %y' pooled.json.sums/*.json)" ]] || fail "summed again: $err"
rm -r out seen whole.json pooled.json*

# same_noise RECORD POOLED: the record of a pool says how the noise was chosen, as that of a run does.
same_noise() {
    command -v python3 >/dev/null || return 0
    python3 - "$@" <<'END' || fail "the noise in $*"
import json, sys
run, pool = (json.load(open(path)) for path in sys.argv[1:])
result = run["steps"][1]["result"]
names = [name for name in ("pixels", "noise", "noise_pixels", "noise_choice") if name in result]
assert "pixels" in names
assert [result[name] for name in names] == [pool[name] for name in names], (result, pool)
step = run["steps"][1]
assert ("noise_choice" in pool) == (step["stage"] != "pca" and step["options"].get("noise") in (None, "auto")
                                    and not step["options"].get("noise-window") and not step["options"].get("dark"))
assert "noise_choice" not in pool or {"taken", "why", "fits", "differences_over_regression",
                                      "regression_lacks", "spread_over_noise_alone"} == set(pool["noise_choice"])
END
}

# One scene: its own model, by all that a fit can be told.
for fit in "pca --denoise" mnf "denoise --noise trimmed" "denoise --noise noise.json" "mnf --noise-window 3,2,70,20" "mnf --noise trimmed" "mnf --noise spatial-spectral-lower" "mnf --noise hv-average --noise-window 3,2,70,20" "mnf --singular stop --noise noise.json" "mnf --dark in/b.hdr"; do
    run 0 cov in/c.hdr noise.json --noise shift --overwrite
    run 0 run read in/a.hdr ! $fit --save-model own.json --components 3 ! write own.img --device cpu
    run 0 batch $fit --components 3 --scenes in/a.hdr --output 'out/{stem}.img' --device cpu --pool pooled.json
    cmp own.json pooled.json
    cmp own.img out/a.img
    same_noise own.img.hcube.json pooled.json.hcube.json
    rm -r own.* out pooled.json*
done

# Pairs of lines are no sums: a pool takes the noise of the regression as it is, and knows no gain.
run 0 batch denoise --method subspace --scenes in/c.hdr --output 'out/{stem}.img' --device cpu --pool pooled.json
run 0 denoise in/c.hdr own.img --method subspace --device cpu
run 0 compare out/c.img own.img --json own.json
# They differ, but by little.
grep -qE '^\s*"rmse":\s*0\.[0-4]' own.json || fail "$(grep rmse own.json)"
! grep '"expected_gain_db"' out/c.img.hcube.json || fail "a pool announces a gain"
rm -r own.* out pooled.json*

# Integers: no order matters. Scenes of other sizes and noise by neighbours on all sides.
list=(in/a.hdr in/b.hdr in/c.hdr)
mnf=(mnf --components 6 --noise median3x3 --output 'out/{stem}.img' --device cpu --overwrite)
printf '%s\n' "${list[@]}" >list.txt
run 0 batch "${mnf[@]}" --scenes list.txt --pool one.json
mkdir one
mv out/*.img one
printf '%s\n' in/c.hdr in/a.hdr in/b.hdr >list.txt
run 0 batch "${mnf[@]}" --scenes list.txt --pool two.json --jobs 3
cmp one.json two.json

# Floats: the order is that of the list, whoever sums them.
for name in a b c; do
    run 0 filter in/$name.hdr in/f$name.img --kind mean3x3 --device cpu
done
printf '%s\n' in/fa.hdr in/fb.hdr in/fc.hdr >list.txt
floats=(mnf --components 6 --scenes list.txt --output 'f/{stem}.img' --device cpu --overwrite)
run 0 batch "${floats[@]}" --pool float.json
run 0 batch "${floats[@]}" --pool jobs.json --jobs 3
cmp float.json jobs.json
for worker in 1 2 3; do
    "$HCUBE" batch "${floats[@]}" --pool workers.json --worker $worker/3 --quiet &
    pids[worker]=$!
done
wait "${pids[1]}"
wait "${pids[2]}"
wait "${pids[3]}"
cmp float.json workers.json
cp workers.json before.json
run 0 batch "${floats[@]}" --pool workers.json --progress json
[[ $(events done) == 0 ]] || fail "workers left something: $err"

# The next run does what an interrupted one has left: sums, model and outputs.
rm -r f float.json.sums/fb-*.json*
run 0 batch "${floats[@]}" --pool float.json --progress json
[[ $(events done) == 4 && $(grep -c '"event":"pooled".*"summed_before":2' <<<"$err") == 1 ]] || fail "$err"
cmp float.json jobs.json
rm float.json
run 0 batch "${floats[@]}" --pool float.json --progress json
[[ $(events done) == 3 ]] || fail "another model file, and $err"
cmp float.json jobs.json
echo broken >float.json
run 0 batch "${floats[@]}" --pool float.json --quiet
cmp float.json jobs.json
# Killed in front of a change to the sums of a scene, to the model, or to an output. What the substitution reads ends with
# the last worker.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
for at in fa-:3 fb-:9 fc-:15 killed.json.hcube:1 fb.img:2 fc.img:8; do
    rm -rf f killed.json*
    status=0
    said=$(HCUBE_KILL_NAME=${at%:*} HCUBE_KILL_AT=${at#*:} HCUBE_KILL_WRITES=1 LD_PRELOAD=$MODULES/kill_at.so \
        "$HCUBE" batch "${floats[@]}" --pool killed.json --jobs 2 2>&1) || status=$?
    [[ $status == 137 ]] || fail "killed at $at: exit code $status: $said"
    run 0 batch "${floats[@]}" --pool killed.json --quiet
    cmp killed.json jobs.json
    [[ -z $(find . -name '*.partial' -o -name '*.hcube-claim*') ]] || fail "left $(find . -name '*.partial' -o -name '*.hcube-claim*')"
done

# Killed in front of each change to the names of the record of the noise sums, which has just been made or replaces another:
# the next run, with these options or with those of the run before, has both records.
# sums_of NOISE: a run that completes.
again=(--scenes in/fb.hdr --output 'again/{stem}.img' --device cpu --pool again.json --quiet)
sums_of() {
    run 0 batch mnf --components 6 --noise "$1" "${again[@]}"
}
for runs in "- median3x3" "shift median3x3" "shift shift"; do
    read -r before next <<<"$runs"
    status=137
    for ((at = 1; status == 137; at++)); do
        rm -rf again again.json*
        [[ $before == - ]] || sums_of "$before"
        status=0
        # The substitution ends with the last worker.
        said=$(HCUBE_KILL_NAME=.noise.hcube.json HCUBE_KILL_AT=$at LD_PRELOAD=$MODULES/kill_at.so \
            "$HCUBE" batch mnf --components 6 --noise median3x3 "${again[@]}" 2>&1) || status=$?
        [[ $status == 137 || $status == 0 ]] || fail "killed at $at: exit code $status: $said"
        sums_of "$next"
        [[ $(cd again.json.sums && ls -A | sed 's/^fb-[0-9a-f]*//' | LC_ALL=C sort | tr '\n' ' ') == \
            ".json .json.hcube.json .json.noise .json.noise.hcube.json " ]] || fail "after kill $at: $(ls -A again.json.sums)"
    done
    ((at > 4)) || fail "only $at changes to the record of the noise sums"
done
rm -r again again.json*

# A touched scene with the old content has the old sums: the model stays, and so do the outputs of the others.
stamp=$(stat -c '%i %y' killed.json)
touch in/fa.img
run 0 batch "${floats[@]}" --pool killed.json --progress json
[[ $(events done) == 2 && $(stat -c '%i %y' killed.json) == "$stamp" ]] || fail "$err"
# Another content makes another model, and all outputs with it.
dd if=in/fc.img of=in/fa.img bs=4096 count=8 conv=notrunc status=none
run 0 batch "${floats[@]}" --pool killed.json --progress json
[[ $(events done) == 4 ]] || fail "$err"
! cmp -s killed.json jobs.json || fail "the model did not change with a scene"
rm -r in/f* f ./*.json ./*.sums list.txt

# Scenes that fail are left out, and said to be.
cut_scene in/d 20 30
truncate -s 1000 in/d.img
run 9 batch "${mnf[@]}" --scenes in --pool three.json
[[ $err == *"[4/4] failed: in/d.hdr: "* && $err == *"three.json:"*"3 scenes, 1 left out"* && $err == *"hcube: batch: 1 of 4 scenes failed" ]] || fail "$err"
for name in a b c; do
    cmp out/$name.img one/$name.img
done
grep -q '"left_out":.*in/d.hdr' <(tr -d '\n\t' <three.json.hcube.json)
cut_scene in/d 20 30
run 0 batch "${mnf[@]}" --scenes in --pool three.json
! cmp -s out/a.img one/a.img || fail "a scene that was mended is not in the model"
rm -r out in/d.* one
echo missing.hdr >list.txt
run 9 batch "${mnf[@]}" --scenes list.txt --pool none.json
[[ $(tail -n 1 <<<"$err") == "hcube: batch: --pool none.json: not one of 1 scenes"* && ! -e none.json ]] || fail "$err"

# A model is replaced, other files are not.
echo '{"mine": 1}' | tee mine.json >left.json.hcube.json
refuse 2 "--pool mine.json: exists, and is no model" batch "${mnf[@]}" --scenes list.txt --pool mine.json
refuse 2 "left.json.hcube.json: exists, and is no record" batch "${mnf[@]}" --scenes list.txt --pool left.json
[[ $(cat mine.json left.json.hcube.json) == $'{"mine": 1}\n{"mine": 1}' && ! -e mine.json.sums && ! -e left.json ]] || fail "$(ls)"
rm mine.json left.json.hcube.json

# What has no meaning for many scenes.
fitting=$("$HCUBE" stages | sed 's/ .*//' | while read -r stage; do
    [[ $("$HCUBE" stages "$stage") != *--save-model* ]] || echo -n ", $stage"
done)
[[ $fitting == *pca* && $fitting == *mnf* ]] || fail "stages with --save-model: $fitting"
refuse 2 "fits a model (stages that can: ${fitting#, })" batch bands --keep 1 "${scenes[@]}" --pool x.json
refuse 2 "no step ... fits a model" batch filter --kind mean3x3 "${scenes[@]}" --pool x.json
refuse 2 "no step ... fits a model" batch mnf --model m.json "${scenes[@]}" --pool x.json
refuse 2 "more than one step ... fits a model" batch mnf ! pca "${scenes[@]}" --pool x.json
refuse 2 "--save-model m.json: --pool names the model" batch mnf --save-model m.json "${scenes[@]}" --pool x.json
refuse 2 "--fit-only needs --save-model" batch mnf --fit-only "${scenes[@]}" --pool x.json
refuse 2 "{stem}.json is another one for each scene" batch mnf --noise '{stem}.json' "${scenes[@]}" --pool x.json
[[ ! -e x.json && ! -e x.json.sums ]]
# same_kind PART: scene d does not go with the others.
same_kind() {
    run 3 batch pca "${scenes[@]}" --pool x.json --one-model
    [[ $(grep '^hcube: ' <<<"$err") == "hcube: in/d.hdr: "*"$1"* && ! -e x.json && ! -e x.json.sums && ! -e out ]] || fail "$err"
    rm -r in/d.*
}
cut_scene in/d 20 30
sed -i 's/^bands *=.*/bands = 32/; /^wavelength *=/,/}/d' in/d.hdr
same_kind "has 32 bands, the scenes before it 59"
run 0 filter in/a.hdr in/d.img --kind mean3x3 --device cpu
run 0 batch pca "${scenes[@]}" --pool x.json # floats and integers go together, without rounding
rm -r x.json* in/d.* out
cut_scene in/d 20 30
sed -i 's/^reflectance scale factor.*/reflectance scale factor = 20000/' in/d.hdr
same_kind "values are scaled otherwise"

# On ranks.
run 0 version
if [[ $out != *"MPI none"* ]] && command -v mpirun >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    run 0 batch "${mnf[@]}" --scenes in --pool one.json
    mv out one
    mpirun -n 3 "$HCUBE" batch "${mnf[@]}" --scenes in --pool ranks.json 2>err.txt || fail "$(cat err.txt)"
    cmp one.json ranks.json
    for name in a b c; do
        cmp out/$name.img one/$name.img
    done
    [[ $(grep -c '[0-9] ranks.json: the model of 3 scenes' err.txt) == 1 ]] || fail "$(cat err.txt)"
    status=0
    mpirun -n 2 "$HCUBE" batch mnf ! pca "${scenes[@]}" --pool x.json 2>err.txt || status=$?
    [[ $status == 2 && $(grep -c '^hcube: ' err.txt) == 1 ]] || fail "$status: $(cat err.txt)"
    # The first rank alone makes the model; where it fails, all do.
    cut_scene in/d 20 30
    sed -i 's/^reflectance scale factor.*/reflectance scale factor = 20000/' in/d.hdr
    status=0
    mpirun -n 3 "$HCUBE" batch pca "${scenes[@]}" --pool x.json --one-model 2>err.txt || status=$?
    [[ $status == 3 && $(grep '^hcube: ' err.txt) == "hcube: in/d.hdr: "*scaled* && ! -e x.json ]] || fail "$status: $(cat err.txt)"
fi

# All processes of a batch end by exit(), so that libraries and sanitizers do what they do at the end.
rm -f in/d.*
: >ends.txt
ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-} HCUBE_ENDS=$PWD/ends.txt LD_PRELOAD=$MODULES/tell_end.so \
    run 0 batch mnf --components 3 --device cpu --scenes in --output 'ends/{stem}.tif' --pool ends/model.json --jobs 2
begun=$(sed -n 's/^begins //p' ends.txt | sort)
[[ $begun && $(comm -23 - <(sed -n 's/^ends //p' ends.txt | sort) <<<"$begun") == '' ]] ||
    fail "not all processes ended by exit(): $(cat ends.txt)"
