# What an operator of a nightly batch asks for: patterns at any depth, scenes left out, an end after too many failures,
# exit codes that tell new failures from old ones, and what has become of the scenes so far.

# put NAME...: copies of the sample scene.
put() {
    local name
    for name; do
        mkdir -p "$(dirname "$name")"
        cp "$SAMPLE/scene.img" "$name.img"
        cp "$scene" "$name.hdr"
    done
}
# put_bad NAME...: headers without data.
put_bad() {
    local name
    for name; do
        cp "$scene" "$name.hdr"
    done
}
put in/v in/a/x in/a/b/y in/.hidden/h 'in/c[1]/w'
ln -s ../a in/c\[1\]/loop # a link that leads in a circle
ln -s . in/loop
batch=(batch bands 1-2 --device cpu)
# made: the outputs that are there, in one line.
made() {
    (cd "$1" && find . -name '*.tif' | LC_ALL=C sort | tr '\n' ' ')
}

# ** stands for any number of folders, none included; not for hidden ones, and not for links.
run 0 "${batch[@]}" --scenes 'in/**/*.hdr' --output 'deep/{stem}.tif' --jobs 1
[[ $(made deep) == "./v.tif ./w.tif ./x.tif ./y.tif " ]] || fail "made $(made deep)"
[[ $err == *"[1/4] wrote deep/y.tif"*"[2/4] wrote deep/x.tif"*"[3/4] wrote deep/w.tif"*"[4/4] wrote deep/v.tif"* ]] || fail "says $err"
run 0 "${batch[@]}" --scenes 'in/**/b/**/*.hdr' --output 'two/{stem}.tif'
[[ $(made two) == "./y.tif " ]] || fail "made $(made two)"
run 0 "${batch[@]}" --scenes '**/b/*' --output 'front/{stem}.tif'
[[ $(made front) == "./y.tif " ]] || fail "made $(made front)"
(cd in/a && run 0 "${batch[@]}" --scenes '**' --output '../../end/{stem}.tif')
[[ $(made end) == "./x.tif ./y.tif " ]] || fail "made $(made end)"
refuse 3 "--scenes in/**/*.img.gz: no scene was found" "${batch[@]}" --scenes 'in/**/*.img.gz' --output 'none/{stem}.tif'
if [[ $(id -u) != 0 ]]; then
    chmod 0 in/a/b
    refuse 4 "the folder in/a/b: Permission denied" "${batch[@]}" --scenes 'in/**/*.hdr' --output 'none/{stem}.tif'
    chmod 755 in/a/b
fi

# Left out by name, and with a slash by path; a pattern that leaves out nothing is told.
run 0 "${batch[@]}" --scenes 'in/**/*.hdr' --exclude '[vw].*' --exclude '*/b/*' --output 'some/{stem}.tif'
[[ $(made some) == "./x.tif " && $err == *"note: 3 scenes left out by --exclude"* ]] || fail "made $(made some): $err"
run 0 "${batch[@]}" --scenes 'in/**/*.hdr' --exclude 'b/*' --output 'deep/{stem}.tif'
[[ $err == *"note: --exclude b/* leaves out no scene"*" 4 complete before"* ]] || fail "says $err"
refuse 3 "--exclude leaves out all 4 scenes" "${batch[@]}" --scenes 'in/**/*.hdr' --exclude '*' --output 'none/{stem}.tif'
[[ ! -e none ]] || fail "a folder was made for nothing"

# In a folder, maps of classes and masks are no scenes.
mkdir mixed
put mixed/s
cp "$SAMPLE"/class.{hdr,img} mixed
header mixed/mask 100 100 1 1
head -c 10000 /dev/zero >mixed/mask.img
header mixed/height 100 100 1 2
head -c 20000 /dev/zero >mixed/height.img
run 0 bands mixed/class.img 1 mixed/map.tif --device cpu
rm mixed/map.tif.hcube.json
run 9 "${batch[@]}" --scenes mixed --output 'unmixed/{stem}.tif' --jobs 1
[[ $(made unmixed) == "./s.tif " ]] || fail "made $(made unmixed)"
[[ $err == *"3 files"*"classes or a mask"*"left out"*"[1/2] failed: mixed/height.hdr"* ]] || fail "says $err"
# A pattern leaves them out where it finds scenes, by quotes or by the shell, in any order; of maps alone it takes them.
among() {
    run 0 "${batch[@]}" --output 'among/{stem}.tif' --scenes "$@"
    [[ $err == *"3 files"*"classes or a mask"*"left out"* ]] || fail "$* says $err"
    [[ $(made among) == "./s.tif " ]] || fail "made $(made among) of $*"
    rm -r among
}
among 'mixed/[cms]*'
among 'mixed/**/[cms]*'
among mixed/s.hdr mixed/mask.hdr mixed/map.tif mixed/class.hdr
run 0 batch bands 1 --device cpu --scenes 'mixed/c*' --output 'asked/{stem}.tif'
[[ $(made asked) == "./class.tif " ]] || fail "made $(made asked)"

# An end after too many failures: what was not begun is left, and done by the next run.
mkdir bad
put_bad bad/a1 bad/a2 bad/a3
put bad/b1 bad/b2
refuse_batch() {
    run "$@"
    err=$(tail -n 1 <<<"$err")
}
refuse_batch 9 "${batch[@]}" --scenes bad --output 'few/{stem}.tif' --max-failures 2 --jobs 1
[[ $err == "hcube: batch: 2 scenes failed"*"--max-failures"*" "@(is|are)" left" ]] || fail "says $err"
[[ ! -e few/b2.tif ]] || fail "the batch went on"
refuse_batch 9 "${batch[@]}" --scenes bad --output 'few/{stem}.tif' --max-failures 2 --jobs 1
[[ $err == "hcube: batch: 3 of 5 scenes failed" ]] || fail "says $err" # old failures do not count
[[ $(made few) == "./b1.tif ./b2.tif " ]] || fail "made $(made few)"
# Old failures have a code of their own.
refuse_batch 10 "${batch[@]}" --scenes bad --output 'few/{stem}.tif' --max-failures 1
[[ $err == "hcube: batch: 3 of 5 scenes failed before, none now" ]] || fail "says $err"
# With --quiet a line means that something is new; the code is the same.
run 10 "${batch[@]}" --scenes bad --output 'few/{stem}.tif' --quiet
[[ -z $out$err ]] || fail "--quiet says $out$err"
run 9 "${batch[@]}" --scenes bad --output 'few/{stem}.tif' --quiet --retry-failed
[[ $(grep -c "bad/a" <<<"$err") == 3 && $err == *"hcube: batch: 3 of 5 scenes failed" ]] || fail "--quiet says $err"
refuse_batch 9 "${batch[@]}" --scenes bad --output 'few/{stem}.tif' --retry-failed
put bad/a1 bad/a2 bad/a3
run 0 "${batch[@]}" --scenes bad --output 'few/{stem}.tif'
refuse 2 "--max-failures 0: must lie between 1" "${batch[@]}" --scenes bad --output 'few/{stem}.tif' --max-failures 0

# What has become of them so far; nothing is written, not even folders.
rm bad/a1.img
put bad/c1
run 0 "${batch[@]}" --scenes bad --output 'state/{stem}.tif' --status
[[ $out == "6 scenes: 0 done, 0 failed, 0 running, 6 left"$'\n'"nobody works on them now" && ! -e state ]] || fail "says $out"
run 9 "${batch[@]}" --scenes bad --output 'state/{stem}.tif' --exclude 'c1*'
# claim NAME PROCESS: as a worker of this host has made it, when the process began.
claim() {
    printf 'hcube claim\nhost %s\nboot %s\nprocesses %s\nowner %s %s\nparent 0 0\nnumber 1\nsince 1700000000\n' \
        "$(hostname)" "$(cat /proc/sys/kernel/random/boot_id)" "$(readlink /proc/self/ns/pid)" \
        "$2" "$(cut -d ' ' -f 22 "/proc/$2/stat" 2>/dev/null || echo 1)" >"$1"
}
claim state/.c1.tif.hcube-claim $$
before=$(find . | LC_ALL=C sort)
run 10 "${batch[@]}" --scenes bad --output 'state/{stem}.tif' --status
[[ $(find . | LC_ALL=C sort) == "$before" ]] || fail "--status writes"
[[ $out == "failed: bad/a1.hdr: "*$'\n'"running: bad/c1.hdr by $(hostname), process $$ since 2023-11-1"*" h)"$'\n'"6 scenes: 4 done, 1 failed, 1 running, 0 left"$'\n'*" scenes an hour; about "*" left" ]] || fail "says $out"
[[ $err == "hcube: batch: 1 of 6 scenes failed before, none now" ]] || fail "says $err"
claim state/.c1.tif.hcube-claim 4194304 # no such process
run 10 "${batch[@]}" --scenes bad --output 'state/{stem}.tif' --status
[[ $out == *"interrupted: bad/c1.hdr by $(hostname), process 4194304 since 2023-11-1"*$'\n'"6 scenes: 4 done, 1 failed, 0 running, 1 interrupted, 0 left"$'\n'"nobody works on them now" ]] || fail "says $out"
# With --quiet only what has failed, and nothing where all is well.
run 10 "${batch[@]}" --scenes bad --output 'state/{stem}.tif' --status --quiet
[[ $out == "failed: "* && $out != *"scenes: "* && $(wc -l <<<"$out") == "$(grep -c '^failed' <<<"$out")" ]] || fail "quiet: $out"
run 10 "${batch[@]}" --scenes bad --output 'state/{stem}.tif' --status --progress json
[[ $(grep -c '"is":[[:space:]]*"done"' <<<"$out") == 4 && $out == *'"interrupted":'*'1'* ]] || fail "says $out"
# Of a share of the scenes.
run 0 "${batch[@]}" --scenes bad --output 'state/{stem}.tif' --status --worker 2/6
[[ $out == "1 scene: 1 done, 0 failed, 0 running, 0 left" ]] || fail "says $out"

# With one model for all scenes the chain is another one.
run 0 batch pca --components 2 --device cpu --scenes 'in/*.hdr' --output 'pool/{stem}.tif' --pool pool/model.json
run 0 batch pca --components 2 --device cpu --scenes 'in/*.hdr' --output 'pool/{stem}.tif' --pool pool/model.json --status
[[ $out == "1 scene: 1 done, 0 failed, 0 running, 0 left" ]] || fail "says $out"

# A row for each scene, as CSV and as a page; a scene that failed keeps its reason, with and without a marker.
rm -r bad
mkdir bad
put bad/s1 "bad/s 2" bad/s3
put_bad bad/f1
sum=(batch mnf --components 2 ! preview 'all/{stem}.png' --bands 1 ! write --device cpu --scenes bad --output 'all/{stem}.tif')
run 9 "${sum[@]}" --summary all/table.csv
[[ $(head -n 1 all/table.csv) == index,scene,output,state,message,finished,seconds,bytes,pixels,masked_pixels,mnf.bands,mnf.components,mnf.pixels,* ]] ||
    fail "has $(head -n 1 all/table.csv)"
[[ $(wc -l <all/table.csv) == 5 ]] || fail "has $(cat all/table.csv)"
grep -q '^1,bad/f1.hdr,all/f1.tif,failed,"\?bad/f1.hdr: .*,,,,,' all/table.csv || fail "has $(cat all/table.csv)"
grep -q '^2,bad/s 2.hdr,all/s 2.tif,done,,20..-..-..T.*Z,0.*,1280000,10000,936,2,2,9064,' all/table.csv || fail "has $(cat all/table.csv)"
# Of an archive that is complete it is the same, and --status makes one, too.
cp all/table.csv first.csv
run 10 "${sum[@]}" --summary all/table.csv
cmp first.csv all/table.csv
rm all/table.csv
run 10 "${sum[@]}" --summary all/table.csv --status
cmp first.csv all/table.csv
run 10 "${sum[@]}" --report all/page.html
page=$(cat all/page.html)
[[ $page == '<!DOCTYPE html>'*'<p>3 done, 1 failed, 0 running, 0 interrupted, 0 left.'* ]] || fail "page: ${page:0:900}"
[[ $(grep -c '<img alt="picture of bad/s' all/page.html) == 3 && $(grep -c '^<tr class="failed">' all/page.html) == 1 ]]
[[ $page != *'src="http'* && $page != *'<script'* ]] || fail "the page needs more than itself"
grep -m 1 -o 'base64,[^"]*' all/page.html | cut -d , -f 2 | base64 -d >thumb.png
[[ $(gdalinfo thumb.png 2>/dev/null) == *"Size is 100, 100"* || ! $(command -v gdalinfo) ]] || fail "no picture"
# --summary writes the page alone: without a picture of the chain, one of the output.
run 10 "${sum[@]}" --summary all/rows.html
cmp all/page.html all/rows.html
run 9 "${batch[@]}" --scenes bad --output 'rows/{stem}.tif' --summary rows/all.html
[[ $(cd rows && echo *.html) == all.html && $(grep -c '<img alt="picture of bad/s' rows/all.html) == 3 ]] || fail "made $(ls rows)"
grep -m 1 -o 'base64,[^"]*' rows/all.html | cut -d , -f 2 | base64 -d >thumb.png
[[ ! $(command -v gdalinfo) || $(gdalinfo -mm thumb.png 2>/dev/null) == *"Size is 100, 100"*"Computed Min/Max=0.000,255.000"* ]] || fail "no picture"
# What is in names and messages stays text.
put 'bad/<b>&"'
run 9 "${sum[@]}" --report all/page.html --retry-failed
grep -q '>bad/&lt;b&gt;&amp;&quot;.hdr</' all/page.html || fail "a name is taken for a tag"
run 10 "${sum[@]}" --summary all/table.csv
grep -q '"bad/<b>&"".hdr"' all/table.csv || fail "quotes are not doubled"
# A disk that is full leaves no marker, and yet a reason.
(
    ulimit -f 20
    run 9 batch mnf --components 2 --device cpu --scenes bad --output 'full/{stem}.tif' --summary all/new.csv
) || fail "full"
[[ $(grep -c ',failed,' all/new.csv) == 5 && $(grep -c 'File too large' all/new.csv) == 4 ]] || fail "has $(cat all/new.csv)"
# It replaces nothing else.
echo precious >all/other.csv
refuse 2 "--summary all/other.csv ... no summary" "${sum[@]}" --summary all/other.csv
refuse 2 "--summary all/x.txt ... .csv or .html" "${sum[@]}" --summary all/x.txt
refuse 2 "--summary all/x.html: is the page of --report" "${sum[@]}" --summary all/x.html --report all/x.html
ls bad/*.hdr >list.csv
refuse 2 "--summary list.csv: would replace ... read" batch mnf --scenes list.csv --output 'all/{stem}.tif' --summary list.csv
[[ $(cat all/other.csv) == precious ]]
