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
    [[ $err == "hcube: $part"* ]] || fail "the place is not first: $err"
}
wrong 2 "wrong.hcube:3: mnff: " "# a comment" "read '$scene'" "! mnff" "! write x.img"
wrong 2 "wrong.hcube:3: mnf: --componets: " "read '$scene'" "! mnf" "  --componets 3" "! write x.img"
wrong 2 "wrong.hcube:2: mnf: --components x: " "read '$scene'" "! mnf --components x" "! write x.img"
wrong 2 "wrong.hcube:2: mnf: --components" "read '$scene'" "! mnf --components" "! write x.img"
wrong 2 "wrong.hcube:3: bands: " "read '$scene'" "" "! bands 1-10 again" "! write x.img"
wrong 2 "wrong.hcube:2: write: OUTPUT is missing" "read '$scene' !" "write" "  # nothing"
wrong 2 "wrong.hcube:2: step 2 is empty" "read '$scene'" "! ! write x.img"
wrong 2 "wrong.hcube:3: a step is missing after step 2" "read '$scene'" "! pca" "!"
wrong 2 "wrong.hcube:2: mnf: a chain begins with read" "" "mnf ! write x.img"
wrong 2 "wrong.hcube:2: read: step 2: only the first step reads" "read '$scene'" "! read '$scene'" "! write x.img"
wrong 2 "wrong.hcube:2: pca: the result of the last step goes nowhere" "read '$scene'" "! pca"
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
# What was typed has no line.
refuse 2 "mnf: --componets" run read "$scene" ! mnf --componets 3 ! write x.img
[[ $err == "hcube: mnf: "* ]] || fail "a typed step has a place: $err"
refuse 2 "mnf: --componets" run "read '$scene' ! mnf --componets 3 ! write x.img"
[[ $err == "hcube: mnf: "* ]] || fail "a quoted step has a place: $err"
