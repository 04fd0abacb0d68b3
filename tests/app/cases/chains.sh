run 0 run read "$scene" ! bands 1-10 ! mnf --components 3 ! write plain.img
# Quoted, with a leading !, with shell quoting inside.
run 0 run "read '$scene' ! bands 1-10 ! mnf --components 3 ! write quoted.img"
cmp plain.img quoted.img
run 0 run "! read \"$scene\" ! bands 1-10 ! mnf --components 3 ! write quoted2.img"
cmp plain.img quoted2.img
run 0 run ! read "$scene" ! bands 1-10 ! mnf --components 3 ! write leading.img
cmp plain.img leading.img
# A file with comments and placeholders.
cat >reduce.hcube <<'CHAIN'
# The first bands, reduced.
read {scene}      # the scene
! bands 1-{bands}
! mnf --components 3 ! write {out}
CHAIN
run 0 run reduce.hcube --set scene="$scene" --set bands=10 --set out=file.img
cmp plain.img file.img
run 0 run --set scene="$scene" --set bands=10 --set out=file2.img reduce.hcube
cmp plain.img file2.img
ln -s "$scene" "a scene.hdr"
ln -s "${scene%.hdr}.img" "a scene.img"
run 0 run reduce.hcube --set "scene=a scene.hdr" --set bands=10 --set "out=with blank.img"
cmp plain.img "with blank.img"
refuse 2 "{out} has no value" run reduce.hcube --set scene=x --set bands=10
refuse 2 "no such placeholder" run reduce.hcube --set scene=x --set bands=10 --set out=x.img --set other=1
refuse 2 "--set" run --set a=b read "$scene" ! write x.img
refuse 2 "not closed" run "read 'a ! write b"
run 0 plan reduce.hcube --set scene="$scene" --set bands=10 --set out=never.img
[[ ! -e never.img ]]
# What is wrong in a file is named with file and line: at once, in the plan, and behind it.
wrong() { # wrong STATUS PART LINE...: a chain file of these lines
    local status=$1 part=$2
    shift 2
    printf '%s\n' "$@" >wrong.hcube
    refuse "$status" "$part" run wrong.hcube
    [[ $err == "hcube: ${part%% ... *}"* ]] || fail "the place is not first: $err"
}
wrong 2 "wrong.hcube:3: mnff: " "# a comment" "read '$scene'" "! mnff" "! write x.img"
wrong 2 "wrong.hcube:3: mnf: --componets: " "read '$scene'" "! mnf" "  --componets 3" "! write x.img"
wrong 2 "wrong.hcube:2: mnf: --components x: " "read '$scene'" "! mnf --components x" "! write x.img"
wrong 2 "wrong.hcube:2: mnf: --components" "read '$scene'" "! mnf --components" "! write x.img"
wrong 2 "wrong.hcube:3: bands: " "read '$scene'" "" "! bands 1-10 again" "! write x.img"
wrong 2 "wrong.hcube:2: write: OUTPUT is missing" "read '$scene' !" "write" "  # nothing"
wrong 2 "wrong.hcube:2: step 2 is empty" "read '$scene'" "! ! write x.img"
wrong 2 "wrong.hcube:3: ... missing after step 2" "read '$scene'" "! pca" "!"
wrong 2 "wrong.hcube:2: mnf: a chain begins with read" "" "mnf ! write x.img"
wrong 2 "wrong.hcube:2: read: step 2 ... only the first" "read '$scene'" "! read '$scene'" "! write x.img"
wrong 2 "wrong.hcube:2: pca: ... goes nowhere" "read '$scene'" "! pca"
wrong 2 "wrong.hcube:3: a quote (') is not closed" "read a" "! bands 'a b'" "! write 'x" "" ""
wrong 2 "wrong.hcube:2: a placeholder { is not closed" "read '$scene'" "! bands {n" "! write x.img"
wrong 2 "wrong.hcube:2: {n} has no value" "read '$scene' # {not}" "! bands {n}" "! write x.img"
wrong 3 "wrong.hcube:2: " "# the scene is missing" "read none.hdr" "! pca" "! write x.img"
wrong 2 "wrong.hcube:2: bands: " "read '$scene'" "! bands 1-10000" "! write x.img"
: >there.img
wrong 2 "wrong.hcube:3: there.img: the file exists already" "read '$scene'" "! pca" "! write there.img"
printf 'ENVI\nsamples = 8\nlines = 8\nbands = 4\ndata type = 12\ninterleave = bil\nbyte order = 0\n' >flat.hdr
head -c 512 /dev/zero >flat.img
wrong 8 "wrong.hcube:2: mnf: " "read flat.hdr" "! mnf" "! write x.img"
[[ $err != *wrong.hcube*wrong.hcube* ]] || fail "names the line twice: $err"
# In a batch, too; what the batch adds stands in no line.
mkdir archive && cp flat.hdr flat.img archive
wrong_batch() { # wrong_batch STATUS PART LINE...
    local status=$1 part=$2
    shift 2
    printf '%s\n' "$@" >wrong.hcube
    refuse "$status" "$part" batch wrong.hcube --scenes archive --output 'made/{stem}.img'
    [[ $err == "hcube: ${part%% ... *}"* ]] || fail "the place is not first: $err"
}
wrong_batch 2 "wrong.hcube:2: pca: --componets: " "bands 1-3" "! pca --componets 3"
wrong_batch 2 "wrong.hcube:3: pca: --components x: " "read" "! bands 1-3" "! pca --components x"
wrong_batch 2 "wrong.hcube:1: read: --bands: " "read --bands 1-3" "! pca"
wrong_batch 2 "wrong.hcube:2: mnff: " "# a comment" "mnff"
wrong_batch 2 "wrong.hcube:2: write: --fromat: " "pca" "! write --fromat GTiff"
wrong_batch 2 "wrong.hcube:3: batch: a step is missing" "# a comment" "pca" "!"
wrong_batch 2 "wrong.hcube:1: batch: {stm}.json: {stm} is none of" "pca --save {stm}.json" "! write"
wrong_batch 2 "wrong.hcube:2: batch: preview P.png ... --output" "pca" "! preview P.png"
wrong_batch 2 "batch: no chain given" "# a comment"
printf 'bands 1-3\n! mnf\n' >wrong.hcube
run 9 batch wrong.hcube --scenes archive --output 'made/{stem}.img'
[[ $err == *"archive/flat.hdr: wrong.hcube:2: mnf: "* ]] || fail "a failure of a scene has no place: $err"
head -c 100 /dev/zero >archive/flat.img
run 9 batch wrong.hcube --scenes archive --output 'cut/{stem}.img'
[[ $err != *wrong.hcube* ]] || fail "a scene that cannot be read is no fault of the chain file: $err"
refuse 2 "batch: preview P.png ... --output (leave out P.png, or add: ! write)" \
    batch pca ! preview P.png --scenes archive
refuse 2 "batch: write x.img ... --output (leave out x.img)" \
    batch 'pca ! write x.img' --scenes archive --output 'made/{stem}.img'
# What was typed has no line.
refuse 2 "mnf: --componets" run read "$scene" ! mnf --componets 3 ! write x.img
[[ $err == "hcube: mnf: "* ]] || fail "a typed step has a place: $err"
refuse 2 "mnf: --componets" run "read '$scene' ! mnf --componets 3 ! write x.img"
[[ $err == "hcube: mnf: "* ]] || fail "a quoted step has a place: $err"

# After denoise, bands are combinations of others: what needs the noise works in their range.
run 0 denoise "$scene" clean.img --noise regression
for step in dimension noise "endmembers ends.sli" "mnf mnf.img --components auto" "cov noise.json --noise regression" \
    "rx rx.img" "abundance a.img --endmembers ends.sli" "unmix u.img --library ends.sli" "detect d.img --targets ends.sli"; do
    read -ra words <<<"$step"
    run 0 "${words[0]}" clean.img "${words[@]:1}"
    case ${words[0]} in
    rx | abundance | unmix | detect) ;;
    *) [[ $err == *"54 of 59 bands are combinations"*"5 directions"* ]] ||
        fail "$step: after denoise: $err" ;;
    esac
done
