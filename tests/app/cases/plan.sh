run 0 plan read "$scene" ! mnf --components 5 --save-model m.json ! preview p.png ! write out.tif ! cov s.json
[[ $out == *passes* && $out == *"5 bands"* && $out == *memory* ]]
only
run 0 plan --device cpu --memory 100M read "$scene" ! write out.img
# A plan fails where the run would.
refuse 4 "nowhere" plan read "$scene" ! write nowhere/out.img
refuse 5 "--memory" plan --device cpu --memory 1M read "$scene" ! write out.img
refuse 3 "none.hdr" plan read none.hdr ! write out.img
refuse 2 "--components" plan read "$scene" ! mnf --components 100 ! write out.img
only
# A scene larger than the memory is read in parts, and the plan says so.
header large 1000 2000 100
: >large.img
truncate -s 400000000 large.img
run 0 plan --device cpu --memory 120M read large.hdr ! filter ! pca ! write out.img
[[ $out == *"passes   2"* ]]
[[ $out == *"read again for each pass"* || $out == *mapped* || $out == *"looked at"* ]] || fail "$out"
[[ $out == *"memory   "*" for computing"* ]] || fail "$out"
# A device with memory of its own: the scene stays there where it fits, and travels for each pass where it does not.
export HCUBE_GPU_MODULE=$MODULES/stand_in.so
run 0 plan --device gpu --device-memory 1G read large.hdr ! filter ! pca ! write out.img
[[ $out == *"passes   2"*"kept on the device"*"memory   "*", and "*" on the device"* ]] || fail "$out"
run 0 plan --device gpu --device-memory 100M --memory 4G read large.hdr ! filter ! pca ! write out.img
[[ $out == *"passes   2"*"kept in memory"* ]] || fail "$out"
run 0 plan --device gpu --device-memory 100M --memory 200M read large.hdr ! filter ! pca ! write out.img
[[ $out == *"passes   2"*"read again for each pass"* ]] || fail "$out"
