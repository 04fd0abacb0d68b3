# One chain over many scenes: what is done, what is skipped, what is done again, and what is refused.
line=$((100 * 64 * 2)) # bytes of a line of the sample scene
# cut NAME FIRST: a scene of 30 lines of the sample scene.
cut_scene() {
    sed 's/^lines *=.*/lines = 30/; s/^map info.*//; s/^coordinate system.*//' "$scene" >"$1.hdr"
    dd if="$SAMPLE/scene.img" of="$1.img" bs=$line skip="$2" count=30 status=none
}
mkdir in
for s in 1 2 3 4 5; do
    cut_scene in/s$s $((s * 12))
    run 0 run --device cpu read in/s$s.hdr ! mnf --components 4 ! write expected$s.img
    run 0 run --device cpu read in/s$s.hdr ! mnf --components 4 ! write expected$s.tif
done
batch=(batch mnf --components 4 --device cpu --scenes in --output)

# check FOLDER SUFFIX SCENE...: outputs of these scenes are those of single runs, and nothing else is there.
check() {
    local folder=$1 suffix=$2 s names=()
    shift 2
    for s in "$@"; do
        cmp "$folder/s${s}_mnf$suffix" "expected$s$suffix" || fail "the output of scene $s differs"
        names+=("s${s}_mnf$suffix" "s${s}_mnf$suffix.hcube.json")
        [[ $suffix != .img ]] || names+=("s${s}_mnf.hdr")
    done
    (cd "$folder" && only "${names[@]}")
}
# events NAME: how often that event is in $err.
events() {
    grep -c "^{\"event\":\"$1\"" <<<"$err" || true
}

# A file that cannot be looked at while scenes are searched is not passed over, nor taken without its header.
if ! sanitized; then
    for scenes in in 'in/*'; do
        failed=0
        for ((call = 10; call <= 130; call += 4)); do
            status=0
            HCUBE_FAIL=stat:EIO HCUBE_FAIL_AT=$call LD_PRELOAD=$MODULES/fail_at.so \
                "$HCUBE" batch mnf --scenes "$scenes" --output 'out/{stem}.tif' --status >log.txt 2>&1 || status=$?
            [[ ($status == 0 && $(head -n 1 log.txt) == "5 scenes: "*) ||
                ($status == 4 && $(tail -n 1 log.txt) == "hcube: "*"Input/output error"*) ]] ||
                fail "$scenes, call $call: exit code $status: $(<log.txt)"
            failed=$((failed + (status == 4)))
        done
        ((failed > 20)) || fail "$scenes: only $failed calls were seen to fail"
    done
fi

# A folder, a pattern, a list; ENVI and GeoTIFF; the record says how.
run 0 "${batch[@]}" 'out/{stem}_mnf.tif'
[[ $err == *"[3/5] wrote out/s3_mnf.tif in "*"5 scenes in "*": 5 done, 0 complete before, 0 failed"* ]] || fail "says $err"
check out .tif 1 2 3 4 5
[[ $err == *"cpu: 5 scenes, 1."[0-9]" MiB, "*" MiB/s"*"slowest: "*"of the time of the runs)"* ]] || fail "says $err"
[[ $err =~ "start: "[0-9.]+" s to the first scene, "[0-9.]+" s until all had a device ("[0-9]+" process"(es)?"); then "[0-9.e-]+" s a scene, "[0-9.]+" "[KM]"iB/s, most of it "(reading|writing|computing|"opening, finishing") ]] || fail "says $err"
grep -q "\"chain\":.*read --path '{scene}' ! mnf --components 4 ! write --output '{output}'" out/s1_mnf.tif.hcube.json
grep -q '"command":.*hcube batch mnf' out/s1_mnf.tif.hcube.json
run 0 batch --scenes 'in/*' --output 'envi/deep/{stem}_mnf.img' --device cpu --jobs 2 'read ! mnf --components 4 ! write'
check envi/deep .img 1 2 3 4 5
printf '# a list\n\n  in/s2.hdr \nin/s4.img\r\n' >list.txt
run 0 batch mnf --components 4 --device cpu --scenes list.txt --output 'listed/{stem}_mnf.tif'
check listed .tif 2 4
run 0 batch mnf --components 4 --device cpu --scenes in/s3.hdr --output 'one/{stem}_mnf.tif' --quiet
[[ ! $err ]] || fail "says $err"
check one .tif 3

# Everything is complete: nothing is touched.
stamps() {
    find out -type f -exec stat -c '%n %i %y' {} + | sort
}
before=$(stamps)
run 0 "${batch[@]}" 'out/{stem}_mnf.tif' --progress json
[[ $(events skipped) == 5 && $(events done) == 0 && $(events summary) == 1 ]] || fail "says $err"
[[ $(stamps) == "$before" ]] || fail "a complete output was touched"

# Events and the table at the end: 30 lines x 100 samples x 59 bands of two bytes a scene.
rm -r out
run 0 "${batch[@]}" 'out/{stem}_mnf.tif' --progress json --jobs 1
[[ $(events started) == 5 && $(events done) == 5 ]] || fail "says $err"
[[ $(grep -c '"index":[1-5],"scenes":5,"at_seconds":[0-9.e-]*,"time":"[-0-9 :]*","device":"cpu","bytes":354000,"seconds":[0-9.e-]*}$' <<<"$err") == 5 ]] || fail "says $err"
[[ $(tail -n 1 <<<"$err") == *'"done":5,'*'"bytes":1770000,'*'"workers":'[1-9]*',"seconds_to_first":'*',"seconds_to_all":'*',"seconds_a_scene":'*',"limit":"'*'"slowest_stage":"'*'"devices":[{"device":"cpu","scenes":5,"bytes":1770000,'* ]] || fail "says $err"
check out .tif 1 2 3 4 5

# redone COUNT WORD...: COUNT scenes are done again, the others are skipped, and all are right.
redone() {
    local count=$1
    shift
    run 0 "${batch[@]}" 'out/{stem}_mnf.tif' --progress json "$@"
    [[ $(events started) == "$count" && $(events done) == "$count" && $(events skipped) == $((5 - count)) ]] ||
        fail "redoes $(events done) instead of $count: $err"
    check out .tif 1 2 3 4 5
}
touch in/s2.img
redone 1
touch in/s2.hdr
redone 1
redone 5 --hash # the first time without a hash to compare with
touch in/s1.img in/s2.hdr
redone 0 --hash
printf x | dd of=in/s1.img bs=1 seek=5000 conv=notrunc status=none
run 0 "${batch[@]}" 'out/{stem}_mnf.tif' --hash --progress json
[[ $(events done) == 1 ]] || fail "a changed content is not seen: $err"
cut_scene in/s1 12
redone 2 # and the one that was only touched
rm out/s3_mnf.tif
redone 1
: >out/s4_mnf.tif
redone 1
rm out/s5_mnf.tif.hcube.json
run 9 "${batch[@]}" 'out/{stem}_mnf.tif'
[[ $err == *"out/s5_mnf.tif"*"exists"*"without a record"* ]] || fail "says $err"
run 9 "${batch[@]}" 'out/{stem}_mnf.tif' --overwrite
rm out/s5_mnf.tif
redone 1
echo broken >out/s5_mnf.tif.hcube.json
run 9 "${batch[@]}" 'out/{stem}_mnf.tif'
rm out/s5_mnf.tif*
redone 1
cp in/s1.img other.img
run 0 batch mnf --components 3 --device cpu --scenes in --output 'out/{stem}_mnf.tif' --progress json --overwrite
[[ $(events done) == 5 ]] || fail "another command is not done: $err"
redone 5 --overwrite
cp "$scene" in/s1.img.aux.xml # a file that belongs to the scene comes
redone 1
rm in/s1.img.aux.xml
redone 1

# Files beside the scene that the chain reads.
run 0 mnf in/s1.hdr --device cpu --fit-only --save-model model.json
run 0 batch mnf --model model.json --scenes in --output 'm/{stem}.tif' --device cpu
run 0 batch mnf --model model.json --scenes in --output 'm/{stem}.tif' --device cpu --progress json
[[ $(events skipped) == 5 ]]
touch model.json
run 0 batch mnf --model model.json --scenes in --output 'm/{stem}.tif' --device cpu --progress json
[[ $(events done) == 5 ]] || fail "a changed model is not seen: $err"
cp in/s1.hdr dark.hdr && cp in/s1.img dark.img
run 0 batch mnf --components 2 --dark dark.hdr --scenes in --output 'd/{stem}.tif' --device cpu
touch dark.img
run 0 batch mnf --components 2 --dark dark.hdr --scenes in --output 'd/{stem}.tif' --device cpu --progress json
[[ $(events done) == 5 ]] || fail "a changed dark image is not seen: $err"
rm -r d dark.*
# A failure for which one of them is to blame is tried again when it has changed, and not before.
rm -r m
mv model.json good.json
echo '{}' >model.json
run 9 batch mnf --model model.json --scenes in --output 'm/{stem}.tif' --device cpu --progress json
[[ $(events failed) == 5 ]] || fail "says $err"
run 10 batch mnf --model model.json --scenes in --output 'm/{stem}.tif' --device cpu --progress json
[[ $(events failed) == 0 && $(grep -c '"why":"failed before"' <<<"$err") == 5 ]] || fail "says $err"
mv good.json model.json
run 0 batch mnf --model model.json --scenes in --output 'm/{stem}.tif' --device cpu --progress json
[[ $(events done) == 5 ]] || fail "a model that was mended is not seen: $err"

# Failures cost their scene alone.
cut_scene in/s6 50
truncate -s 1000 in/s6.img
cut_scene in/s7 50
sed -i 's/^bands *=.*/bands = 2/' in/s7.hdr
run 9 "${batch[@]}" 'out/{stem}_mnf.tif'
[[ $err == *"[6/7] failed: in/s6.hdr: in/s6.img: "*missing* && $err == *"[7/7] failed: "* && $err == *"hcube: batch: 2 of 7 scenes failed" ]] ||
    fail "says $err"
[[ ! -e out/s6_mnf.tif && -e out/s6_mnf.tif.hcube-failed.json ]]
run 10 "${batch[@]}" 'out/{stem}_mnf.tif' --progress json
[[ $(events failed) == 0 && $(events started) == 0 && $(grep -c '"why":"failed before"' <<<"$err") == 2 ]] || fail "says $err"
run 9 "${batch[@]}" 'out/{stem}_mnf.tif' --progress json --retry-failed
[[ $(events failed) == 2 && $(grep -c '"exit_code":3' <<<"$err") -ge 1 ]] || fail "says $err"
cut_scene in/s6 50
run 10 "${batch[@]}" 'out/{stem}_mnf.tif' --progress json # a scene that was mended is tried without being told
[[ $(events done) == 1 && ! -e out/s6_mnf.tif.hcube-failed.json ]] || fail "says $err"
rm in/s6.* in/s7.* out/s6* out/s7*
check out .tif 1 2 3 4 5

# Refused before anything is done.
mkdir other && cut_scene other/s1 3
printf 'in/s1.hdr\nother/s1.hdr\n' >clash.txt
refuse 2 "in/s1.hdr and other/s1.hdr would both become x/s1.tif" batch mnf --scenes clash.txt --output 'x/{stem}.tif'
refuse 2 "would both become" batch mnf --scenes in --output x/all.tif
refuse 2 "{stam}" batch mnf --scenes in --output 'x/{stam}.tif'
refuse 2 "{what}" batch mnf --save-model 'x/{what}.json' --scenes in --output 'y/{stem}.tif'
refuse 2 "scenes is missing" batch mnf --output 'x/{stem}.tif'
refuse 2 "output is missing" batch mnf --scenes in
refuse 2 "--output needs a value" batch mnf --scenes in --output
refuse 2 "no chain given" batch --scenes in --output 'x/{stem}.tif'
refuse 2 "--worker 3/2" batch mnf --scenes in --output 'x/{stem}.tif' --worker 3/2
refuse 2 "--output is given twice" batch svd --output dimension --scenes in --output 'x/{stem}.tif'
refuse 2 "name the data file" batch mnf --scenes in --output 'x/{stem}.hdr'
refuse 2 "no such placeholder" batch mnf --scenes in --output 'x/{stem}.tif' --set a=1
refuse 2 "did you mean mnf" batch mnff --scenes in --output 'x/{stem}.tif'
refuse 2 "components" batch mnf --componens 4 --scenes in --output 'x/{stem}.tif'
refuse 3 "no such list" batch mnf --scenes nowhere --output 'x/{stem}.tif'
refuse 3 "no scene was found" batch mnf --scenes 'in/*.none' --output 'x/{stem}.tif'
refuse 6 "local files and object storage only" batch mnf --scenes in --output '/vsizip/b.zip/{stem}.tif'
refuse 7 "--device gpu:99" batch mnf --scenes in --output 'x/{stem}.tif' --device gpu:99
[[ ! -e x ]] || [[ -z $(find x -type f) ]] || fail "left $(find x)"
rm -rf x

# Placeholders, chain files, options of reading and writing, and further outputs.
printf 'read --all-bands # a chain\n! mnf --components {count} --save-model "more/{stem}.json" ! preview more/{name}.png --bands 1,2,3 ! write --type float64' >chain.hcube
mkdir more
run 0 batch chain.hcube --set count=3 --scenes in --output 'more/{folder}-{index}/{stem}.tif' --device cpu
for s in 1 2 3 4 5; do
    [[ -s more/in-$s/s$s.tif && -s more/in-$s/s$s.tif.hcube.json && -s more/s$s.json && -s more/s$s.hdr.png ]]
    run 0 run --device cpu read in/s$s.hdr --all-bands ! mnf --components 3 ! write single.tif --type float64 --overwrite
    cmp single.tif more/in-$s/s$s.tif
done
rm -rf more single.*
# Outputs beside the scenes are not taken for scenes the next time.
cp -r in same
run 0 batch mnf --components 4 --device cpu --scenes same --output '{parent}/{stem}_mnf.tif'
run 0 batch mnf --components 4 --device cpu --scenes same --output '{parent}/{stem}_mnf.tif' --progress json
[[ $(events skipped) == 5 && $err == *"5 outputs"*"left out"* ]] || fail "says $err"
# But a scene is never replaced because of its name.
run 0 run --device cpu read in/s1.hdr ! write same/s1_pca.tif --record none
before=$(cksum <same/s1_pca.tif)
run 9 batch pca --scenes same --output 'same/{stem}_pca.tif' --device cpu
[[ $err == *"failed: same/s1.hdr"*"same/s1_pca.tif would replace the scene same/s1_pca.tif"* && $err == *" 1 failed"* ]] || fail "says $err"
[[ $(cksum <same/s1_pca.tif) == "$before" && -s same/s2_pca.tif ]] || fail "$(ls same)"
rm -rf same
# Nor is one that a list names, whatever is permitted; the others are done. Nor is a name tried that is too long.
cp -r in mixed
run 0 run --device cpu read in/s1.hdr ! write mixed/s2_b.tif
printf 'mixed/s1.hdr\nmixed/s2.hdr\nmixed/s2_b.tif\n' >mixed.txt
before=$(cksum <mixed/s2_b.tif)
run 9 batch bands --keep 1 --scenes mixed.txt --output 'mixed/{stem}_b.tif' --device cpu --overwrite
[[ $err == *"2 done, 0 complete before, 1 failed"* && $(cksum <mixed/s2_b.tif) == "$before" ]] || fail "says $err"
run 10 batch bands --keep 1 --scenes mixed.txt --output 'mixed/{stem}_b.tif' --status
[[ $out == *"failed: mixed/s2.hdr: the output mixed/s2_b.tif would replace"*"2 done, 1 failed"* ]] || fail "says $out"
run 9 batch bands --keep 1 --scenes in --output 'in/{stem}.img' --device cpu
[[ $err == *"5 failed"* && ! $(find in -name '*hcube*') ]] || fail "says $err, leaves $(ls in)"
long=$(printf '%0199d' 7)
mkdir long
for s in "$long" short; do
    cp in/s1.hdr long/$s.hdr
    cp in/s1.img long/$s.img
done
run 9 batch bands --keep 1 --scenes long --output 'l/{stem}.tif' --device cpu
[[ $err == *"longer than 200 bytes"*"1 done, 0 complete before, 1 failed"* && -s l/short.tif ]] || fail "says $err"
rm -r mixed long l

# Workers: by number, and by who comes first.
for w in 1 2 3; do
    run 0 "${batch[@]}" 'w/{stem}_mnf.tif' --worker $w/3 --progress json
    [[ $(events done) == $((w < 3 ? 2 : 1)) && $(events skipped) == 0 ]] || fail "worker $w: $err"
done
check w .tif 1 2 3 4 5
for w in 1 2 3; do
    "$HCUBE" "${batch[@]}" 'v/{stem}_mnf.tif' --progress json 2>"v$w.log" &
    workers[w]=$!
done
for w in 1 2 3; do
    wait "${workers[w]}"
done
[[ $(cat v?.log | grep -c '"event":"done"') == 5 ]] || fail "scenes were done twice: $(cat v?.log)"
check v .tif 1 2 3 4 5

# A claim of another host holds while it is touched, and for some minutes.
rm out/s3_mnf.tif
claim=out/.s3_mnf.tif.hcube-claim
printf 'hcube claim\nhost far\nboot 0-0\nprocesses pid:[1]\nowner 1 1\nparent 0 0\nnumber 1\n' >$claim
run 0 "${batch[@]}" 'out/{stem}_mnf.tif'
[[ ! -e out/s3_mnf.tif && $err == *"1 with another worker"* && -e $claim ]] || fail "says $err"
touch -d '10 minutes ago' $claim
run 0 "${batch[@]}" 'out/{stem}_mnf.tif'
check out .tif 1 2 3 4 5
# That of a dead process here does not, nor what it left; half a claim holds for some minutes too.
rm out/s3_mnf.tif out/s4_mnf.tif
mkdir out/.s3_mnf.tif.99999-1.partial && : >out/.s3_mnf.tif.99999-1.partial/s3_mnf.tif
printf 'hcube claim\nhost %s\nboot %s\nprocesses %s\nowner 4194304 5\nparent 0 0\nnumber 1\n' "$(uname -n)" \
    "$(cat /proc/sys/kernel/random/boot_id)" "$(readlink /proc/self/ns/pid)" >$claim
cp $claim $claim+ # it was about to be taken over by another one that died
cp $claim out/.s1_mnf.tif.hcube-claim # died when all was done but this
printf 'hcube cl' >out/.s4_mnf.tif.hcube-claim
run 0 "${batch[@]}" 'out/{stem}_mnf.tif'
[[ $err == *"1 with another worker"* ]] || fail "says $err"
# After these minutes it is taken over, also where the host died before it had written anything into it.
: >out/.s4_mnf.tif.hcube-claim
touch -d '10 minutes ago' out/.s4_mnf.tif.hcube-claim
run 0 "${batch[@]}" 'out/{stem}_mnf.tif'
check out .tif 1 2 3 4 5

# A claim of a process here that is alive holds however old it is; one whose number another process has now does not.
# Numbers of another name space say nothing.
# held_by SPACE PROCESS START: whether that claim on scene 3 holds.
held_by() {
    rm -f out/s3_mnf.tif
    printf 'hcube claim\nhost %s\nboot %s\nprocesses %s\nowner %s %s\nparent 0 0\nnumber 1\n' "$(uname -n)" \
        "$(cat /proc/sys/kernel/random/boot_id)" "$1" "$2" "$3" >$claim
    [[ ${4-} ]] && touch -d "$4" $claim
    run 0 "${batch[@]}" 'out/{stem}_mnf.tif'
    [[ $err == *"1 with another worker"* ]]
}
space=$(readlink /proc/self/ns/pid)
started=$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)
held_by "$space" $$ "$started" '10 minutes ago' || fail "the claim of a live process is taken: $err"
! held_by "$space" $$ $((started + 1)) || fail "a claim of another process of that number holds"
held_by 'pid:[1]' $$ $((started + 1)) || fail "the claim of another name space is taken at once: $err"
! held_by 'pid:[1]' $$ "$started" '10 minutes ago' || fail "an old claim of another name space holds"
check out .tif 1 2 3 4 5

# An output that another command has replaced is done again, though its size is the same.
size=$(stat -c %s out/s2_mnf.tif)
run 0 run --device cpu read in/s2.hdr ! mnf --components 4 ! filter median3x3 ! write out/s2_mnf.tif --overwrite --record none
[[ $(stat -c %s out/s2_mnf.tif) == "$size" ]]
run 9 "${batch[@]}" 'out/{stem}_mnf.tif'
rm out/s2_mnf.tif
redone 1

# What this chain has not made stays: a file of another program in the place of an output, a record, or a further output;
# and outputs of another chain or command, without --overwrite. The summary says how many were replaced.
more=(batch 'bands --keep 1-3 ! preview e/{stem}.png --bands 1,2,3 ! write' --scenes in --device cpu --output 'e/{stem}.tif')
mkdir e
echo mine >e/s1.tif
echo mine >e/s2.png
echo mine >e/s3.tif.hcube.json
run 9 "${more[@]}"
[[ $err == *"in/s1.hdr"*"e/s1.tif"*"exists"*"without a record"*"in/s2.hdr: e/s2.png: "*"2 done, 0 complete before, 3 failed"* ]] || fail "says $err"
[[ $(cat e/s1.tif e/s2.png e/s3.tif.hcube.json | tr '\n' ' ') == "mine mine mine " && ! $(find e -name '*failed*') ]] || fail "$(ls e)"
run 9 "${more[@]}" --overwrite
[[ $(cat e/s1.tif e/s2.png e/s3.tif.hcube.json | tr '\n' ' ') == "mine mine mine " ]] || fail "says $err"
rm e/s1.tif
run 9 "${more[@]}"
[[ $err == *"1 done, 2 complete before, 2 failed"* ]] || fail "a file that was removed counts: $err"
rm e/s2.png e/s3.tif.hcube.json
run 0 "${more[@]}"
[[ $err == *"2 done, 3 complete before, 0 failed"* ]] || fail "says $err"
other=(batch 'bands --keep 2-4 ! preview e/{stem}.png --bands 1,2,3 ! write' --scenes in --device cpu --output 'e/{stem}.tif')
before=$(cat e/* | cksum)
run 9 "${other[@]}"
[[ $err == *"made by another chain (--overwrite replaces it)"*"0 done, 0 complete before, 5 failed"* && $(cat e/* | cksum) == "$before" ]] || fail "says $err"
run 0 "${more[@]}" --progress json
[[ $(events skipped) == 5 && $err == *'"replaced":0'* ]] || fail "says $err"
run 0 "${other[@]}" --overwrite --progress json
[[ $(events done) == 5 && $(grep -c '"replaced":true' <<<"$err") == 5 && $err == *'"replaced":5'* ]] || fail "says $err"
touch in/s1.img
run 0 "${other[@]}"
[[ $err == *"1 done, 4 complete before, 0 failed" || $err == *"1 done, 4 complete before, 0 failed"$'\n'* ]] || fail "says $err"
run 0 run --overwrite --device cpu read in/s2.hdr ! bands 1 ! write e/s2.tif
run 9 "${other[@]}"
[[ $err == *"e/s2.tif"*"exists"*"another chain"* ]] || fail "says $err"
rm -r e
# A pair goes with its record, and so do a model and a report, which have none of their own.
pair=(batch mnf --components 2 --save-model 'e/{stem}.json' --scenes in/s2.hdr --device cpu --output 'e/{stem}.img' --report e/all.html)
mkdir e
echo mine >e/s2.json
run 9 "${pair[@]}"
[[ $err == *"e/s2.json"*"exists"*"without a record"* && $(cat e/s2.json) == mine ]] || fail "says $err"
rm e/s2.json
echo mine >e/s2.img.hcube.html
run 9 "${pair[@]}"
[[ $err == *"e/s2.img.hcube.html"*"exists"*"without a record"* ]] || fail "says $err"
rm e/s2.img.hcube.html
run 0 "${pair[@]}"
touch in/s2.img
run 0 "${pair[@]}"
pair[3]=3
run 9 "${pair[@]}"
run 0 "${pair[@]}" --overwrite
rm -r e
redone 2 # those that were touched

# A hash is that of the whole file, also where the chain reads a part of it: the last byte is of a band that it drops.
first=(batch bands --keep 1-3 --device cpu --scenes in/s1.hdr --output 'part/{stem}.tif' --hash --progress json)
run 0 "${first[@]}"
touch -r in/s1.img stamp
printf x | dd of=in/s1.img bs=1 seek=$((30 * line - 1)) conv=notrunc status=none
touch -r stamp in/s1.img
run 0 "${first[@]}"
[[ $(events done) == 1 ]] || fail "a byte that is not read does not count: $err"
cut_scene in/s1 12
redone 1

# Jobs share --memory.
small=(batch mnf --components 4 --device cpu --threads 1 --scenes in --output 'memory/{stem}.tif' --retry-failed)
run 9 "${small[@]}" --memory 1M --jobs 1
need=$(grep -o -m 1 'needs at least [0-9]*' <<<"$err" | grep -o '[0-9]*$')
run 9 "${small[@]}" --memory $((need * 3 / 2))M --jobs 2
[[ $(grep -c "MiB is too little: .* needs at least $need" <<<"$err") == 5 ]] || fail "says $err"
run 0 "${small[@]}" --memory $((need * 3 / 2))M --jobs 1

# Devices: several jobs are spread over the GPUs.
export HCUBE_GPU_MODULE=$MODULES/stand_in.so
run 0 batch mnf --components 4 --scenes in --output 'g/{stem}_mnf.tif' --jobs 2 --progress json
[[ $(grep -c '"event":"done".*"device":"gpu:[01]"' <<<"$err") == 5 ]] || fail "says $err"
run 0 batch mnf --components 4 --scenes in --output 'g2/{stem}_mnf.tif' --progress json # one process a GPU
[[ $(events done) == 5 && $(grep '"event":"done"' <<<"$err" | grep -o '"device":"gpu:[01]"' | sort -u | wc -l) == 2 ]] || fail "says $err"
run 0 batch mnf --components 4 --scenes in --output 'g1/{stem}_mnf.tif' --progress json --jobs 1
[[ $(grep -c '"event":"done".*"device":"gpu:0"' <<<"$err") == 5 ]] || fail "says $err"
run 0 batch mnf --components 4 --scenes in --output 'h/{stem}_mnf.tif' --device gpu:1 --progress json
[[ $(grep -c '"event":"done".*"device":"gpu:1"' <<<"$err") == 5 ]] || fail "says $err"
# Each process sees its own GPU alone, unless only starting them tells how many there are.
# seen FOLDER: what the records of a folder say of the device.
seen() {
    cat "$1"/*.hcube.json | grep -o '"stand-in [^"]*"' | sort -u | tr -d '"' | paste -s -d ';' -
}
[[ $(seen g2) == "stand-in 0, 1 seen;stand-in 1, 1 seen" && $(seen g1) == "stand-in 0, 1 seen" ]] || fail "$(seen g1) $(seen g2)"
[[ $(seen h) == "stand-in 1, 1 seen" ]] || fail "$(seen h)"
HCUBE_STAND_IN_UNKNOWN=1 run 0 batch mnf --components 4 --scenes in --output 'unknown/{stem}_mnf.tif' --jobs 2 --progress json
[[ $(events done) == 5 && $(seen unknown) == "stand-in 0, 2 seen;stand-in 1, 2 seen" ]] || fail "$(seen unknown): $err"
HCUBE_STAND_IN=3 CUDA_VISIBLE_DEVICES=2,0 run 0 batch mnf --components 4 --scenes in --output 'visible/{stem}_mnf.tif' --jobs 2 --progress json
[[ $(events done) == 5 && $(seen visible) == "stand-in 0, 1 seen;stand-in 2, 1 seen" ]] || fail "$(seen visible): $err"
grep '"event":"done".*"device":"gpu:0"' <<<"$err" | grep -o 'visible/[^"]*' | while read -r output; do
    grep -q '"stand-in 2, 1 seen"' "$output.hcube.json" || fail "gpu:0 of 2,0 is another one"
done
unset HCUBE_GPU_MODULE
