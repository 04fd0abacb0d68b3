# A compressed GeoTIFF is read chunk by chunk: the same bytes whatever --memory is, which the run keeps below, and a plan
# that says which way is taken. Broken tiles leave nothing.
header big 300 700 120
for _ in {1..40}; do cat "$SAMPLE"/scene.img; done >big.img
truncate -s $((300 * 700 * 120 * 2)) big.img
for interleave in bip bsq; do
    run 0 run --device cpu read big.hdr ! write "$interleave.tif" --type uint16 --compress deflate --interleave "$interleave"
done
run 0 run --device cpu read big.hdr ! write plain.img --type uint16
sum=$(md5sum <plain.img)
mkdir scratch

# read_back MEMORY FILE: its plan in $out, and its bytes compared.
read_back() {
    TMPDIR=$PWD/scratch run 0 run --device cpu --memory "$1" --overwrite read "$2" ! write back.img --type uint16
    [[ $(md5sum <back.img) == "$sum" ]] || fail "--memory $1: other values of $2"
    if ! sanitized; then
        [[ $err =~ peak\ memory\ ([0-9]+)\.[0-9]\ MiB ]] || fail "no peak memory in '$err'"
        ((BASH_REMATCH[1] * 100 <= ${1%M} * 105)) || fail "$2: peak memory ${BASH_REMATCH[1]} MiB of $1"
    fi
    [[ ! $(ls -A scratch) ]] || fail "scratch files stay"
    run 0 plan --device cpu --memory "$1" --overwrite read "$2" ! write back.img --type uint16
}
for file in bip.tif bsq.tif; do
    run 0 info --json "$file"
    [[ $out == *'"chunks (deflate'* ]] || fail "$file is not read by chunks: $out"
    read_back 900M "$file"
    [[ $out == *$'\n'"reading  chunks (deflate"*"each decoded once a pass"*"of chunks in memory"* ]] || fail "$out"
    # The least memory: what the refusal names.
    run 5 plan --device cpu --memory 82M read "$file" ! write back.img --type uint16 --overwrite
    [[ $err =~ at\ least\ ([0-9]+)\.[0-9]\ MiB ]] || fail "no least memory in '$err'"
    least=$((BASH_REMATCH[1] + 1))M
    read_back "$least" "$file"
    [[ $out == *"each decoded once in all"*"a scratch file of 48.1 MiB in "* ]] || fail "$out"
done

# Within a stated space.
run 0 run --device cpu --memory "$least" --scratch scratch --scratch-space 49M --overwrite \
    read bsq.tif ! write back.img --type uint16
[[ $(md5sum <back.img) == "$sum" ]] || fail "--scratch-space 49M: other values"
refuse 4 "bsq.tif ... $PWD/scratch ... the space of --scratch-space is used up" run --device cpu \
    --memory "$least" --scratch scratch --scratch-space 40M read bsq.tif ! write lack.img --type uint16
[[ ! -e lack.img && ! $(ls -A scratch) ]] || fail "left: $(ls -A lack.img scratch)"

# Where a second pass reads the scene again, chunks are decoded in the first one alone: if the scratch folder is no memory.
run 0 plan --device cpu --threads 2 --memory 130M read bip.tif ! mnf ! write twice.img
if [[ $(stat -f -c %T "${TMPDIR:-/var/tmp}") != tmpfs ]]; then
    [[ $out == *"each decoded once in all"*"a scratch file of 48.1 MiB in "* ]] || fail "$out"
fi
run 0 plan --device cpu --threads 2 --memory 900M read bip.tif ! mnf ! write twice.img
[[ $out == *"each decoded once a pass"* ]] || fail "$out"
run 0 run --device cpu --threads 2 --memory 130M read bip.tif ! mnf --components 3 ! write twice.img --record none
run 0 run --device cpu --threads 2 read plain.img ! mnf --components 3 ! write once.img --record none
cmp twice.img once.img
rm back.* plain.* twice.* once.*

# The last bytes of the file are those of a tile, or of the list of tiles: either is missing.
head -c -1000 bip.tif >short.tif
run 3 run --device cpu read short.tif ! write out.img
[[ $err == *short.tif* ]] || fail "$err"
[[ ! -e out.img ]] || fail "an output of a short file"
