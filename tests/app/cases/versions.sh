# Files of hcube: each kind in each version is read for ever, a newer version is refused, unknown keys are a note.
frozen=$here/../frozen/1 # as the first version wrote them
cp "$frozen"/* .
version=$("$HCUBE" version | sed -n '1s/[^ ]* \([0-9.]*\).*/\1/p')
# "FILE WORD...": a command that reads FILE.
readers=("pca.json pca scene.hdr out.img --model pca.json"
    "mnf.json mnf scene.hdr out.img --model mnf.json"
    "statistics.json rx scene.hdr out.img --background statistics.json"
    "noise_statistics.json mnf scene.hdr out.img --noise noise_statistics.json"
    "noise_statistics.json denoise scene.hdr out.img --noise noise_statistics.json"
    "noise_statistics.json unmix scene.hdr out.img --library library.csv --weights noise_statistics.json"
    "noise.json unmix scene.hdr out.img --library library.csv --noise-map noise.json"
    "record.json rerun record.json")
printf 'wavelength_nm,a,b\n450,40,200\n550,90,150\n650,200,50\n850,300,40\n' >library.csv
read_all() {
    local file
    for words in "${readers[@]}"; do
        file=${words%% *}
        rm -rf out.*
        "$@"
    done
}
known() {
    run 0 ${words#* }
    [[ $err != *unknown* ]] || fail "$words: $err"
}
read_all known
for file in *.json; do
    run 0 diff "$file" "$file"
done
rm -f out.*
run 0 run chain.hcube --set scene=scene.hdr --set out=out
[[ $(stat -c %s out.img) == 720 ]]

# with FILE EDIT: EDIT is done to a copy of the frozen file.
with() {
    sed "$2" "$frozen/$1" >"$1"
}
kind='s/"\(hcube_[a-z]*\)":.[12],/'
newer() {
    with "$file" "$kind\"\\1\": 99, \"version\": \"9.9.0\",/"
    refuse 3 "version 99 ... hcube 9.9.0 ... hcube $version ... up to 1" ${words#* }
    [[ ! -e out.img ]]
    with "$file" "$kind\"\\1\": 3,/; /\"version\"/d"
    refuse 3 "version 3 ... newer hcube ... hcube $version reads" ${words#* }
    for wrong in 0 1.5 '"1"' null -1; do
        with "$file" "$kind\"\\1\": $wrong,/"
        refuse 3 'not the version of a format (1 to 1)' ${words#* }
    done
    cp "$frozen/$file" .
}
read_all newer
for file in *.json; do
    with "$file" "$kind\"\\1\": 99,/; s/\"version\":.*/\"version\": \"9.9.0\",/"
    refuse 3 "$file: a " diff "$frozen/$file" "$file"
    cp "$frozen/$file" .
done

unknown() {
    with "$file" '2s/^/"extra": 1, /'
    run 0 ${words#* }
    [[ $err == *"note: "*"$file: hcube $version ignores 1 unknown key: \"extra\""* ]] || fail "$words: $err"
    cp "$frozen/$file" .
}
read_all unknown

# What is written now names its hcube, and has no key that is not known.
rm -f -- *.json out.*
run 0 run --record none read scene.hdr ! pca --fit-only --save-model pca.json ! mnf --fit-only --noise shift --save-model mnf.json \
    ! cov statistics.json ! cov noise_statistics.json --noise shift ! cov sums_1.json --sums ! noise noise.json --columns 3 \
    ! dimension dimension.json
run 0 knn scene.hdr class_out.img --training class.hdr -k 3 --split 0.5 --report accuracy.json
run 0 write scene.hdr out.img
mv out.img.hcube.json record.json
for file in *.json; do
    grep -q "\"version\":.\"$version\"" "$file" || fail "$file names no version"
done
read_all known

# --check: outputs that another hcube wrote are the same but for its version.
run 0 pca scene.hdr out2.img --save-model other.json
sed -i 's/"version":.*/"version": "0.0.9",/' other.json out2.img.hcube.json
run 0 rerun --check out2.img.hcube.json
[[ $out == *"other.json: the same, except"*"version"* ]] || fail "$out"
sed -i 's/"pixels":.120/"pixels": 119/' other.json
run 1 rerun --check out2.img.hcube.json

# A batch leaves alone what a newer hcube wrote.
mkdir in
cp scene.* in
run 0 batch pca --components 2 --scenes in --output 'o/{stem}.img' --device cpu
sed -i 's/"hcube_record":.1/"hcube_record": 2/; s/"version":.*/"version": "9.9.0",/' o/scene.img.hcube.json
stamp=$(stat -c '%i %y' o/scene.img)
run 10 batch pca --components 2 --scenes in --output 'o/{stem}.img' --device cpu
[[ $err == *"a record of version 2"*"hcube 9.9.0"* && $stamp == "$(stat -c '%i %y' o/scene.img)" ]] || fail "$err"
# And --pool a model.
run 0 batch pca --components 2 --scenes in --output 'p/{stem}.img' --device cpu --pool pooled.json
sed -i 's/"hcube_model":.1/"hcube_model": 2/; s/"version":.*/"version": "9.9.0",/' pooled.json
refuse 3 "pooled.json: a model file of version 2 ... hcube 9.9.0" batch pca --components 2 --scenes in \
    --output 'p/{stem}.img' --device cpu --pool pooled.json
