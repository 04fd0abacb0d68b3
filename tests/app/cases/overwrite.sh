run 0 mnf "$scene" out.img --components 3
only out.img out.hdr out.img.hcube.json
before=$(cat ./* | cksum)
refuse 2 "out.img" mnf "$scene" out.img --components 4
refuse 2 "out.img" run read "$scene" ! bands 1 ! write out.img
[[ $(cat ./* | cksum) == "$before" ]]
only out.img out.hdr out.img.hcube.json
run 0 mnf "$scene" out.img --components 4 --overwrite
[[ $(stat -c %s out.img) == 160000 ]]
only out.img out.hdr out.img.hcube.json
# A run that fails leaves what was there, even with --overwrite.
before=$(cat ./* | cksum)
refuse 8 "pixel" mnf "$scene" out.img --overwrite --noise-window 0,0,5,5
[[ $(cat ./* | cksum) == "$before" ]]
# The same for pictures, statistics, models.
run 0 preview "$scene" p.png
refuse 2 "p.png" preview "$scene" p.png
run 0 preview "$scene" p.png --overwrite
run 0 cov "$scene" s.json
refuse 2 "s.json" cov "$scene" s.json
run 0 run read "$scene" ! pca --fit-only --save-model m.json
refuse 2 "m.json" run read "$scene" ! pca --fit-only --save-model m.json
run 0 run --overwrite read "$scene" ! pca --fit-only --save-model m.json
refuse 4 "nowhere" mnf "$scene" nowhere/out.img
# Record and report of a run are no files of a step: its --overwrite is not theirs, and the message says whose is.
for option in "--record one.json" "--report one.html"; do
    one=${option#* }
    echo mine >"$one"
    refuse 2 "$option ... exists already; --overwrite ... (hcube run --overwrite" \
        run $option read "$scene" ! bands 1 ! write out.img --overwrite
    [[ $(cat "$one") == mine ]]
    run 0 run --overwrite $option read "$scene" ! bands 1 ! write out.img
    echo mine >"$one"
    run 0 bands "$scene" 1 out.img --overwrite $option
    [[ $(cat "$one") != mine ]]
    rm "$one"
done
# One file for two outputs is refused before anything is computed, even with --overwrite.
mkdir twice
cd twice
refuse 2 "writes this file already" run --overwrite read "$scene" ! write a.img ! mnf ! write a.img
refuse 2 "writes this file already" run read "$scene" ! cov c.json ! cov ./c.json
refuse 2 "writes this file already" mnf "$scene" out.img --save-model out.img
refuse 2 "writes this file already" run read "$scene" ! mnf ! preview p.png --scree p.png
only
# What is no file stays, also behind a symbolic link.
ln -s /dev/null sink.tif
refuse 4 "sink.tif: is a device" bands "$scene" sink.tif --keep 1 --overwrite
[[ -L sink.tif ]]
# Input and output swapped: a scene with more bands than the result, of which there is no record, is asked about.
mkdir swapped
cd swapped
cp "$scene" s.hdr && cp "$SAMPLE/scene.img" s.img
run 0 mnf s.hdr result.tif --components 3
before=$(cat s.hdr s.img | cksum)
refuse 2 "arguments swapped?" mnf result.tif s.img --overwrite
refuse 2 "arguments swapped?" run read result.tif ! bands 1 ! write s.img --overwrite
refuse 2 "arguments swapped?" cov result.tif s.img --overwrite
refuse 2 "arguments swapped?" mnf result.tif other.tif --overwrite --record s.img
refuse 2 "arguments swapped?" mnf result.tif other.tif --overwrite --save-model s.img
refuse 2 "arguments swapped?" plan read result.tif ! write s.img --overwrite
# A report, a record or a table is none, whatever header of its stem lies beside it.
mkdir beside
cd beside
printf 'ENVI\nsamples = 2\nlines = 2\nbands = 3\ndata type = 1\ninterleave = bsq\nbyte order = 0\n' >page.hdr
head -c 12 /dev/zero >page.img
for name in page.html page.json; do
    head -c 4096 /dev/zero | tr '\0' ' ' >$name
done
run 0 run --overwrite --report page.html --record page.json read "$scene" ! bands 1 ! write out.img
grep -q "<html" page.html || fail "the report is not there"
grep -q hcube_record page.json || fail "the record is not there"
cd ..
rm -r beside
# A batch replaces old outputs unasked, and no scene either.
run 9 batch mnf --components 2 ! write --scenes result.tif --output s.img
[[ $err == *"failed: result.tif: write: s.img is a scene"*"64 bands"*"arguments swapped?"* ]] || fail "the batch says $err"
rm s.img.hcube-failed.json
[[ $(cat s.hdr s.img | cksum) == "$before" ]]
refuse 2 "--overwrite takes no value" mnf result.tif s.img --overwrite=any
rm s.hdr s.img
run 0 mnf result.tif s.img --overwrite
run 0 info s.img
[[ $out == *"3 bands"* ]] || fail "says $out"
# Of a pair the record lies beside the data.
run 0 bands "$scene" pair.img --keep 1-5
run 0 bands "$scene" pair.img --keep 1-2 --overwrite
run 0 bands "$scene" pair.hdr --keep 1 --overwrite
# What has a record was made by hcube; what has no more bands than the result may be one.
run 0 bands s.img s.img.tif --keep 1-2
run 0 bands result.tif s.img.tif --keep 1 --overwrite
cp "$SAMPLE/scene.img" old.img && cp "$scene" old.hdr
run 0 write "$scene" old.img --overwrite --all-bands
refuse 2 "--overwrite takes no value" write "$scene" old.img --overwrite=all --all-bands
# A record that is not ours stays unless --overwrite is given; one of ours goes with its output.
cd ..
mkdir foreign
cd foreign
echo '{"mine": 1}' >a.tif.hcube.json
refuse 2 "a.tif.hcube.json: the file exists already" bands "$scene" a.tif --keep 1
only a.tif.hcube.json
[[ $(cat a.tif.hcube.json) == '{"mine": 1}' ]]
run 0 bands "$scene" a.tif --keep 1 --overwrite
grep -q hcube_record a.tif.hcube.json
rm a.tif
run 0 bands "$scene" a.tif --keep 2
only a.tif a.tif.hcube.json
# No record beside an output that it does not describe.
run 0 bands "$scene" a.tif --keep 3 --overwrite --record none
only a.tif
run 0 bands "$scene" a.tif --keep 2 --overwrite
run 0 bands "$scene" a.tif --keep 3 --overwrite --record there.json
only a.tif there.json
# A file that replaces another one keeps its mode, and its owner and group where that is permitted: data, header, record,
# style, model, statistics, library, table, picture, figure, report, and results of commands that run no chain.
cd ..
mkdir access
cd access
umask 022
commands=(
    "run --overwrite --report r.html read $scene ! mnf --components 3 --save-model m.json ! preview p.png ! write w.img --qml"
    "run --overwrite --record one.json read $scene ! cov s.json ! write g.tif"
    "endmembers $scene e.sli --count 3 --csv e.csv --overwrite"
    "write $scene n.nc --overwrite"
    "compare w.img w.img --json c.json --overwrite"
    "info $scene --look look.png --overwrite"
    "bench --size 8x9x4 --only eigh --no-serial --device cpu --repetitions 1 --json bench.json --overwrite"
)
# access_of: mode, owner and group of each file here.
access_of() {
    find . -type f -exec stat -c '%n %a %u:%g' {} + | LC_ALL=C sort
}
write_all() {
    local command
    while read -r command; do
        "$HCUBE" $command >/dev/null 2>"$folder".err || fail "$command: $(cat "$folder".err)"
    done < <(printf '%s\n' "${commands[@]}")
}
write_all
find . -type f -exec chmod 640 {} +
if [[ $(id -u) == 0 ]]; then
    find . -type f -exec chown 1234:1235 {} +
fi
chmod 600 w.img r.html m.json
chmod 664 w.hdr n.nc
chmod 444 g.tif one.json
before=$(access_of)
write_all
[[ $(access_of) == "$before" ]] || fail "other rights: $(diff <(echo "$before") <(access_of))"
# That behind a link, too, which a file replaces; and what replaces nothing has the mode that umask gives.
mv g.tif behind.tif
ln -s behind.tif g.tif
run 0 run --overwrite --record new.json read "$scene" ! cov s.json ! write g.tif
[[ ! -L g.tif && $(stat -c %a g.tif new.json | tr '\n' ' ') == "444 644 " ]] || fail "$(access_of)"
