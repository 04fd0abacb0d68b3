# rerun: a record's command again, by the words and the folder that it keeps.
mkdir work in out
cp "$SAMPLE"/scene.{hdr,img} in/
home=$PWD
there() { cd "$home/work"; }
back() { cd "$home"; }
# sums, kept WHAT: every file is as it was then, and there is no other.
tree() { find "$home/work" "$home/in" "$home/out" -type f ! -name '.*.out' -exec cksum {} + | LC_ALL=C sort; }
sums() { before=$(tree); }
kept() { [[ $(tree) == "$before" ]] || fail "$1: files are not what they were"; }
cpu=(--device cpu --quiet)

# ---- --check ----
# Raster, header, model, picture and both records, from another folder than that of the run.
there
run 0 run "${cpu[@]}" read ../in/scene.hdr ! mnf --components 3 --save-model m.json ! preview p.png --bands 1,2,3 ! write a.img
back
sums
run 0 rerun work/a.img.hcube.json --check --quiet
[[ -z $out$err ]] || fail "quiet: $out$err"
run 0 rerun work/a.img.hcube.json --check --threads 1 --memory 200M
for line in "a.img: the same, 120000 bytes" "a.hdr: the same" "a.qml: the same" "m.json: the same" "p.png: the same" \
    "a.img.hcube.json: the same, except for times" "p.png.hcube.json: the same"; do
    [[ $out == *"$line"* ]] || fail "lacks $line: $out"
done
[[ $out == *"8 files the same, 0 not" && $err != *wrote* ]] || fail "$out$err"
kept "--check"
# A style is written beside rasters since 0.1; older records are of runs without.
mv work/a.qml a.qml
run 0 rerun work/a.img.hcube.json --check
[[ $out == *"a.qml: not compared, there is no style"*"7 files the same, 0 not" ]] || fail "no style: $out"
mv a.qml work/a.qml
# What differs, and what is gone.
printf '\x7f' | dd of=work/a.img bs=1 seek=5003 conv=notrunc status=none
echo >>work/m.json
rm work/p.png
sums
run 1 rerun work/p.png.hcube.json --check
[[ $out == *"a.img: differs in 1 of 120000 bytes"*"byte 5003 from 0"* ]] || fail "a byte: $out"
[[ $out == *"m.json: differs, "*" bytes and now "* && $out == *"p.png: is not there any more"* ]] || fail "others: $out"
[[ $out == *"5 files the same, 3 not" ]] || fail "$out"
run 1 rerun work/p.png.hcube.json --check --quiet
[[ -z $out$err ]] || fail "quiet: $out$err"
kept "differences"
sed -i 's/"components":\t"3"/"components":\t"4"/' work/a.img.hcube.json
run 1 rerun work/a.img.hcube.json --check
[[ $out == *'a.img.hcube.json: differs: steps[1].options.components: "4" and "3"'* ]] || fail "record: $out"
refuse 2 "--check excludes --overwrite" rerun work/a.img.hcube.json --check --overwrite

# ---- writing ----
# What is there stays, although the command had --overwrite itself, before its steps and in one.
there
run 0 run --overwrite "${cpu[@]}" read ../in/scene.hdr ! bands 1-3 ! write b.tif --overwrite
back
cp work/b.tif out/b.tif
sums
refuse 2 "b.tif: the file exists already" rerun work/b.tif.hcube.json
kept "without --overwrite"
echo x >>work/b.tif
run 0 rerun work/b.tif.hcube.json --overwrite --quiet
cmp work/b.tif out/b.tif || fail "--overwrite: other bytes"
rm work/b.tif
run 0 rerun work/b.tif.hcube.json --quiet
cmp work/b.tif out/b.tif || fail "the output again: other bytes"
# The new record is of the same command.
grep -q '"command":	"hcube run --overwrite' work/b.tif.hcube.json || fail "command: $(cat work/b.tif.hcube.json)"
run 0 rerun work/b.tif.hcube.json --check --quiet
# One record for all, and a page.
there
run 0 bands ../in/scene.hdr 1-2 c.tif "${cpu[@]}" --record all.json --report c.html
back
run 0 rerun work/all.json --check
[[ $out == *"all.json: the same"* && $out == *"c.html: not compared, it holds times"* ]] || fail "one record: $out"
# One scene of a batch: the batch finds it complete afterwards.
there
run 0 batch mnf --components 2 ! write --scenes ../in --output '../out/{stem}_m.tif' "${cpu[@]}"
back
run 0 rerun out/scene_m.tif.hcube.json --check
[[ $out == *"scene_m.tif: the same"*"2 files the same, 0 not" ]] || fail "batch: $out"
run 0 rerun out/scene_m.tif.hcube.json --overwrite --quiet
there
run 0 batch mnf --components 2 ! write --scenes ../in --output '../out/{stem}_m.tif' --device cpu
[[ $err == *"1 complete before"* ]] || fail "batch after a rerun: $err"
# A chain file that has changed since.
echo 'read {s} ! bands 1-2 ! write d.tif' >d.hcube
run 0 run d.hcube --set s=../in/scene.hdr "${cpu[@]}"
echo 'read {s} ! bands 1-3 ! write d.tif' >d.hcube
back
sums
refuse 3 "step 2, bands ... not that of the record" rerun work/d.tif.hcube.json --overwrite
kept "a chain file"
run 1 rerun work/d.tif.hcube.json --check --quiet

# ---- inputs ----
# A single run knows the content of small files, a batch the time of its files.
touch -d 2001-02-03 in/scene.img
sums
run 0 rerun work/b.tif.hcube.json --check --quiet
refuse 3 "scene.img: has changed" rerun out/scene_m.tif.hcube.json --check
# A mask and a library are inputs, too.
there
cp "$SAMPLE"/library.{sli,hdr} ../in/
cp ../in/scene.img ../in/mask.img
cp ../in/scene.hdr ../in/mask.hdr
run 0 run "${cpu[@]}" read ../in/scene.hdr --mask ../in/mask.hdr:40 --window 10,10,9,9 ! unmix --library ../in/library.sli ! write u.tif
back
for file in scene.hdr scene.img mask.hdr mask.img library.hdr library.sli; do
    python3 - work/u.tif.hcube.json "../in/$file" "$(stat -c %s "in/$file")" <<'END' || fail "inputs: $file"
import json, sys
record, name, size = sys.argv[1:]
files = [f for f in json.load(open(record))["inputs"] if f["file"] == name]
assert len(files) == 1 and files[0]["bytes"] == int(size) and len(files[0]["xxh64"]) == 16, files
END
done
run 0 rerun work/u.tif.hcube.json --check --quiet
for file in mask.img library.hdr library.sli; do
    cp "in/$file" kept
    printf '\x7f' | dd of="in/$file" bs=1 seek=30 conv=notrunc status=none
    touch -r kept "in/$file"
    refuse 3 "$file: has changed" rerun work/u.tif.hcube.json --check
    cp kept "in/$file"
done
run 0 rerun work/u.tif.hcube.json --check --quiet
rm kept in/mask.* in/library.*
# A file of more than 64 MiB is not read for its hash: its time counts.
truncate -s 65M in/large.img
printf 'ENVI\nsamples = 1024\nlines = 1040\nbands = 64\ndata type = 1\ninterleave = bip\n' >in/large.hdr
run 0 bands in/large.hdr 1-2 work/large.tif --window 10,10,9,9 "${cpu[@]}"
python3 -c 'import json; f = json.load(open("work/large.tif.hcube.json"))["inputs"]; assert [len(i.get("xxh64", "")) for i in f] == [16, 0], f' ||
    fail "a large file"
touch -d 2001-02-03 in/large.img
refuse 3 "large.img: has changed" rerun work/large.tif.hcube.json --check
rm in/large.*
# Bytes of an output count where two records are compared.
grep -q '"outputs"' work/b.tif.hcube.json || fail "outputs: $(cat work/b.tif.hcube.json)"
sed 's/\("xxh64":\t"\)..../\10000/' work/b.tif.hcube.json >other.json
run 1 diff work/b.tif.hcube.json other.json
[[ $out == *"outputs[0].xxh64: "* ]] || fail "diff of outputs: $out"
# A record of an older version has no list: the scene counts by its time.
python3 -c 'import json; r = json.load(open("work/b.tif.hcube.json")); del r["inputs"], r["outputs"]; json.dump(r, open("work/b.tif.hcube.json", "w"))'
sums
refuse 3 "scene.img: has changed" rerun work/b.tif.hcube.json --check
kept "a changed input"
run 0 rerun work/b.tif.hcube.json --check --changed-inputs

# ---- records that are none, or not of this program ----
# record FILE WORDS...: a record of these words in work/.
record() {
    local file=$1 word words=
    shift
    for word in "$@"; do words+="${words:+,}\"$word\""; done
    echo "{\"hcube_record\":1,\"version\":\"0.0.1\",\"command\":\"hcube\",\"arguments\":[$words],\"folder\":\"$home/work\"}" >"$file"
}
refuse 3 "none.json: No such file" rerun none.json
run 0 mnf "$scene" named.tif --components 2
refuse 3 "named.tif: not a record ... named.tif.hcube.json" rerun named.tif --check
refuse 3 "named.tif: not a record ... named.tif.hcube.json" diff named.tif none.json
echo '{"hcube_record":1,"command":"hcube x"}' >old.json
refuse 3 'old.json ... no "arguments" ... older hcube' rerun old.json
echo '{"hcube_record":1,"command":"hcube x","arguments":["x"]}' >old.json
refuse 3 'the record has no "folder"' rerun old.json
echo '{"hcube_pool":1}' >pool.json
refuse 3 "pool.json: not a record of hcube" rerun pool.json
echo '[1]' >list.json
refuse 3 "list.json: not a record of hcube" rerun list.json
printf '{"hcube_record":1,"arguments":["ru' >cut.json
refuse 3 "cut.json: not a JSON file" rerun cut.json
{ printf '[%.0s' {1..5000}; } >deep.json
refuse 3 "deep.json" rerun deep.json
echo "{\"hcube_record\":1,\"command\":\"\",\"arguments\":[\"run\",[1]],\"folder\":\"$home\"}" >r.json
refuse 3 "arguments[1]: is no word" rerun r.json
echo '{"hcube_record":1,"command":"","arguments":["run"],"folder":"/nowhere"}' >r.json
refuse 3 "the folder ... /nowhere: No such file" rerun r.json
for words in "" "rerun r.json" "solve lp x" "version" "--help" "diff a b"; do
    # shellcheck disable=SC2086
    record r.json $words
    refuse 6 "records of run, of stages and of batch" rerun r.json
done
record r.json run
refuse 2 "no chain given" rerun r.json --quiet
record r.json run --help
refuse 2 "--help" rerun r.json --quiet
record r.json batch x --scenes in --output out
refuse 3 'r.json: the record has no "steps"' rerun r.json --quiet
# steps JSON: the record of a batch with these steps.
steps() {
    echo "{\"hcube_record\":1,\"command\":\"\",\"arguments\":[\"batch\"],\"folder\":\"$home/work\",\"steps\":$1}" >r.json
}
steps '[{"stage":"read","options":["x"]}]'
refuse 3 "an option without a name" rerun r.json --quiet
steps '[{"stage":"read","options":{"path":null}}]'
refuse 3 "--path: the record has no value" rerun r.json --quiet
steps '[{"options":{}}]'
refuse 3 'r.json: a step has no "stage"' rerun r.json --quiet
steps '[{"stage":"read","options":{"path":"../in/scene.hdr"}},{"stage":"write","options":{"output":"a.img","overwrite":"any"}}]'
refuse 2 "a.img: the file exists already" rerun r.json --quiet --changed-inputs
# Words that would destroy: an input, a file that is there, the record itself.
sums
record r.json run --overwrite=any read ../in/scene.hdr ! bands 1-2 ! write ../in/scene.img --overwrite=any
refuse 2 "scene.img" rerun r.json --changed-inputs --quiet
refuse 2 "scene.img" rerun r.json --changed-inputs --quiet --overwrite
record r.json run --overwrite=any read ../in/scene.hdr ! bands 1-2 ! write a.img --overwrite=any --format ENVI
refuse 2 "a.img: the file exists already" rerun r.json --changed-inputs --quiet
record r.json bands ../in/scene.hdr 1-2 ../r.json --overwrite
refuse 2 "r.json" rerun r.json --changed-inputs --quiet --overwrite
ln r.json work/hard.json
record work/hard.json bands ../in/scene.hdr 1-2 hard.json --format ENVI
refuse 2 "hard.json" rerun r.json --changed-inputs --quiet --overwrite
rm work/hard.json
kept "hostile words"
