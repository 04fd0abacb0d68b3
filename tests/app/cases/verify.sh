# --verify: tiles computed again. What it finds in wrong files and devices: test_verify.
run 0 run --verify 3 --device cpu read "$scene" ! mnf --components 3 ! write a.tif
[[ $err =~ "verified 3 tiles of 16 lines (--verify-seed "([0-9]+)"): "[0-9]+" values are what the CPU finds" ]] || fail "what is said: $err"
# By that seed another command looks at the same tiles.
run 0 mnf "$scene" again.tif --components 3 --device cpu --verify 3 --verify-seed "${BASH_REMATCH[1]}"
for file in a again; do
    tr -d '\n\t ' <$file.tif.hcube.json | grep -o '"verify":{[^}]*"device"' >$file.places
done
cmp a.places again.places || fail "other tiles: $(cat ./*.places)"
for part in '"tiles":.3' '"lines":.16' '"exact":.true' '"differing":.0'; do
    grep -q "$part" a.tif.hcube.json || fail "the record lacks $part: $(<a.tif.hcube.json)"
done
# The same seed, the same tiles; silent with --quiet; with one record, and none.
run 0 mnf "$scene" b.tif --components 3 --verify 2 --verify-seed 5 --quiet --record r.json
[[ -z $out$err ]] || fail "quiet: $out$err"
run 0 mnf "$scene" c.tif --components 3 --verify 2 --verify-seed 5 --quiet --record s.json
for file in r.json s.json; do
    tr -d '\n\t ' <$file | grep -o '"verify":{[^}]*"device"' >$file.places
done
cmp r.json.places s.json.places || fail "another place: $(cat ./*.places)"
grep -q '"seed":5,' r.json.places || fail "the seed: $(<r.json.places)"
run 0 bands "$scene" 1-3 d.tif --verify 2 --record none
[[ $err == *"verified 2 tiles"* ]] || fail "without a record: $err"
# A run again verifies as the record has it, or as it is asked.
run 0 rerun a.tif.hcube.json --check --quiet
run 0 bands "$scene" 1-3 e.tif --quiet
run 0 rerun e.tif.hcube.json --overwrite --verify 1
[[ $err == *"verified 1 tile of 16 lines"* ]] || fail "rerun --verify: $err"
# In a batch; stages with a --verify of their own keep it.
mkdir scenes
cp "$SAMPLE"/scene.{hdr,img} scenes/
run 0 batch bands 1-3 --scenes scenes --output 'out/{stem}.tif' --verify 2 --quiet
grep -q '"verify"' out/scene.tif.hcube.json || fail "batch: $(<out/scene.tif.hcube.json)"
run 0 abundance "$scene" f.tif --endmembers "$SAMPLE/endmembers.sli" --window 10,10,9,9 --verify --quiet
grep -q '"proof"' f.tif.hcube.json || fail "abundance: $(<f.tif.hcube.json)"
run 0 run --verify 1 read "$scene" --window 10,10,9,9 ! abundance --endmembers "$SAMPLE/endmembers.sli" --verify ! write g.tif
grep -q '"proof"' g.tif.hcube.json && grep -q '"first_lines_from_0"' g.tif.hcube.json || fail "both: $(<g.tif.hcube.json)"
# A device that works on memory of its own, behind the border of the module.
if [[ -e $MODULES/stand_in.so ]]; then
    HCUBE_GPU_MODULE=$MODULES/stand_in.so run 0 run --verify 3 --device gpu read "$scene" ! mnf --components 3 ! write h.tif
    grep -q '"exact":.false' h.tif.hcube.json || fail "another device: $(<h.tif.hcube.json)"
fi
# What cannot be verified is refused before it is computed, and by plan.
refuse 2 "--verify: the chain writes no raster" run --verify 2 read "$scene" ! cov s2.json
refuse 2 "--verify: the chain writes no raster" plan --verify 2 read "$scene" ! cov s2.json
refuse 2 "--verify" run --verify 0 read "$scene" ! write i.tif
if "$HCUBE" info "$SAMPLE"/EMIT_L2A_RFL*.nc >said.txt 2>&1; then
    refuse 6 "lines of a map" run --verify 2 read "$SAMPLE"/EMIT_L2A_RFL*.nc ! bands 1-3 ! write --ortho i.tif
fi
[[ ! -e i.tif && ! -e s2.json ]] || fail "something was written"
