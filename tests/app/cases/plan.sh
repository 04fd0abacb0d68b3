run 0 plan read "$scene" ! mnf --components 5 --save-model m.json ! preview p.png ! write out.tif ! cov s.json
[[ $out == *passes* && $out == *"5 bands"* && $out == *memory* ]]
only
run 0 plan --memory 100M read "$scene" ! write out.img
# A plan fails where the run would.
refuse 4 "nowhere" plan read "$scene" ! write nowhere/out.img
refuse 5 "--memory" plan --memory 1M read "$scene" ! write out.img
refuse 3 "none.hdr" plan read none.hdr ! write out.img
refuse 2 "--components" plan read "$scene" ! mnf --components 100 ! write out.img
only
# A scene larger than the memory is read in parts, and the plan says so.
header large 1000 2000 100
: >large.img
truncate -s 400000000 large.img
run 0 plan --memory 120M read large.hdr ! filter ! pca ! write out.img
[[ $out == *"passes   2"* ]]
[[ $out == *"read again for each pass"* || $out == *mapped* || $out == *"looked at"* ]] || fail "$out"
