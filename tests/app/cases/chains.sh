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
