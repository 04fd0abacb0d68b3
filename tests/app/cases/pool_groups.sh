# batch --pool over scenes of several sensors: a model for each group of equal bands.
line=$((100 * 64 * 2)) # bytes of a line of the sample scene (bands interleaved by line)
# cut_scene NAME FIRST: 20 lines of the sample scene.
cut_scene() {
    sed 's/^lines *=.*/lines = 20/; s/^map info.*//; s/^coordinate system.*//' "$scene" >"$1.hdr"
    dd if="$SAMPLE/scene.img" of="$1.img" bs=$line skip="$2" count=20 status=none
}
events() {
    grep -c "^{\"event\":\"$1\"" <<<"$err" || true
}
mkdir in one two
for s in 1 2 3; do
    cut_scene in/a$s $((s * 20 - 20))
    run 0 bands in/a$s.hdr 1-9 in/b$s.img --device cpu --record none
done
run 0 bands in/a2.hdr 20-26 in/c.img --device cpu --record none
for s in 1 2 3; do
    ln in/a$s.* one
    ln in/b$s.* two
done
fit=(mnf --components 3 --noise shift)
rest=(--output 'out/{stem}.img' --device cpu --threads 1)
all=(batch "${fit[@]}" --scenes in "${rest[@]}")

# The model of each group is that of a pool of its scenes alone, and so are the outputs.
mkdir expected
for group in one two; do
    run 0 batch "${fit[@]}" --scenes $group "${rest[@]}" --pool $group.json
    [[ $err != *"group "* ]] || fail "one group is told: $err"
    mv out/*.img expected/
    rm -r out
done
run 0 run read in/c.hdr ! "${fit[@]}" --save-model three.json ! write expected/c.img --device cpu
# models POOL: the files of the groups, in the order of the expected ones.
models() {
    printf '%s\n' "$1"_59b_*nm.json "$1"_9b_*nm.json "$1"_7b_*nm.json
}
# same POOL: models and outputs are right, and nothing is left.
same() {
    local model expected=(one two three)
    mapfile -t model < <(models "$1")
    for g in 0 1 2; do
        cmp "${model[g]}" "${expected[g]}.json"
    done
    [[ ! -e $1.json ]] || fail "$1.json is there"
    for file in out/*.img; do
        cmp "$file" "expected/${file#out/}"
    done
    [[ $(ls out/*.img | wc -l) == 7 && -z $(find . -name '*.partial' -o -name '*.hcube-claim*') ]] || fail "found $(entries)"
}
run 0 plan "${all[@]}" --pool m.json
[[ $out == *"group    59b_"*": 3 scenes of 59 bands, "*", model m_59b_"*"group    9b_"*"group    7b_"*": 1 scene of 7 bands, "* ]] || fail "plans $out"
[[ ! -e m.json.sums && ! -e out ]] || fail "plan has made $(entries)"
run 0 "${all[@]}" --pool m.json --summary m.csv
same m
[[ $err == *"group 59b_"*": 3 scenes of 59 bands, "*"group 9b_"*"m.json:"*"7 scenes, 0 left out"* ]] || fail "says $err"
[[ $(grep -c ',9b_[0-9]*-[0-9]*nm,' m.csv) == 3 && $(head -n 1 m.csv) == *,masked_pixels,group,* ]] || fail "$(cat m.csv)"
grep -q '"scenes":.*in/b3.hdr' <(tr -d '\n\t' <"$(models m | sed -n 2p).hcube.json")
! grep -q 'in/a1.hdr' "$(models m | sed -n 2p).hcube.json" || fail "a record names a scene of another group"
run 0 "${all[@]}" --pool m.json --progress json
[[ $(events group) == 3 && $(events done) == 0 && $(events skipped) == 14 ]] || fail "complete, and done again: $err"
run 0 "${all[@]}" --pool m.json --quiet
[[ ! $err && ! $out ]] || fail "not silent: $err$out"
run 0 "${all[@]}" --pool m.json --status
[[ $out == *"group 9b_"*": 3 scenes of 9 bands, "*", 3 done, model m_9b_"*"7 scenes: 7 done, 0 failed"* ]] || fail "says $out"
run 0 "${all[@]}" --pool m.json --status --progress json
[[ $(grep -o '"group":\s*"59b_[^"]*"' <<<"$out" | wc -l) == 3 ]] || fail "says $out"

# Several processes and workers; killed at sums, at a model and at an output of one group.
export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-}
rm -r out m.json.sums m_*
run 0 "${all[@]}" --pool m.json --jobs 3
same m
rm -r out m.json.sums m_*
for w in 1 2; do
    "$HCUBE" "${all[@]}" --pool m.json --worker $w/2 --quiet 2>w$w.log &
    workers[w]=$!
done
wait "${workers[1]}" || fail "$(cat w1.log)"
wait "${workers[2]}" || fail "$(cat w2.log)"
same m
for at in b2-:3 m_9b:2 m_7b:4 b3.img:2; do
    rm -r out m.json.sums m_*
    status=0
    said=$(HCUBE_KILL_NAME=${at%:*} HCUBE_KILL_AT=${at#*:} HCUBE_KILL_WRITES=1 LD_PRELOAD=$MODULES/kill_at.so \
        "$HCUBE" "${all[@]}" --pool m.json --jobs 2 2>&1) || status=$?
    [[ $status == 137 ]] || fail "killed at $at: exit code $status: $said"
    run 0 "${all[@]}" --pool m.json --quiet
    same m
done
if [[ $("$HCUBE" version) != *"MPI none"* ]] && command -v mpirun >/dev/null && ! sanitized; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    rm -r out m.json.sums m_*
    mpirun -n 3 "$HCUBE" "${all[@]}" --pool m.json 2>err.txt || fail "$(cat err.txt)"
    same m
    [[ $(grep -c '^group ' err.txt) == 3 ]] || fail "$(cat err.txt)"
fi

# The group of an older model keeps its file, and its outputs stay as they are.
rm -r out m.json.sums m_*
run 0 batch "${fit[@]}" --scenes 'in/a*.hdr' "${rest[@]}" --pool m.json
stamp=$(stat -c '%i %y' m.json out/a?.img)
run 0 "${all[@]}" --pool m.json
[[ $(stat -c '%i %y' m.json out/a?.img) == "$stamp" && ! -e m_59b* && -e $(ls m_9b_*nm.json) ]] || fail "made again: $err"
cmp m.json one.json

# Another scaling makes another group of the same name.
rm -r out m.json*  m_*
sed 's/^reflectance scale factor.*/reflectance scale factor = 20000/' in/a1.hdr >in/d.hdr
cp in/a1.img in/d.img
run 0 "${all[@]}" --pool m.json
[[ -e $(ls m_59b_*nm.json) && -e $(ls m_59b_*nm_2.json) ]] || fail "made $(ls)"
rm -r out m.json.sums m_* in/d.*

# A scene that cannot be read is in no group: it fails now, then before; the others go on. A group of damaged scenes alone
# has no model.
cp in/a1.hdr in/d.hdr
truncate -s 100 in/c.img
run 9 "${all[@]}" --pool m.json
[[ $(tail -n 1 <<<"$err") == "hcube: batch: "* && $(ls out/*.img | wc -l) == 6 ]] || fail "says $err"
run 10 "${all[@]}" --pool m.json --quiet
[[ -z $err ]] || fail "says $err"
run 10 "${all[@]}" --pool m.json
[[ $err == *$'\n'"hcube: batch: 2 of 8 scenes failed before, none now" ]] || fail "says $err"
run 10 "${all[@]}" --pool m.json --status
[[ $out == *"8 scenes: 6 done, 2 failed, 0 running, 0 left"* ]] || fail "says $out"
rm -r out m.json.sums m_* in/d.*

refuse 3 "in/b1.hdr: has 9 bands ... 59" "${all[@]}" --pool m.json --one-model
[[ ! -e m.json.sums && ! -e out ]] || fail "summed before it was refused: $(entries)"
