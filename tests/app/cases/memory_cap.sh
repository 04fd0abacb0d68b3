# Threads whose sums have no room do not take part, and nothing else changes: the least that is asked for is that of one.
run 0 cov "$SAMPLE"/scene.hdr one.json --threads 1 --device cpu
run 0 cov "$SAMPLE"/scene.hdr few.json --threads 64 --device cpu --memory 90M
[[ $err =~ "memory: 90.0 MiB is enough for "([0-9]+)" of 64 threads" ]] || fail "says $err"
((BASH_REMATCH[1] >= 1 && BASH_REMATCH[1] < 64)) || fail "says $err"
cmp one.json few.json
run 5 cov "$SAMPLE"/scene.hdr s.json --threads 64 --device cpu --memory 1M
[[ $err =~ "needs at least "([0-9]+) ]] || fail "says $err"
least=${BASH_REMATCH[1]}
run 5 cov "$SAMPLE"/scene.hdr s.json --threads 1 --device cpu --memory 1M
[[ $err == *"needs at least $least"* ]] || fail "$least MiB with 64 threads, with one: $err"

# What the program that starts hcube has in memory is none of its own.
large=$(printf '%*s' 200000000 '')
run 0 filter "$SAMPLE"/scene.hdr out.img --device cpu
unset large
[[ $err =~ peak\ memory\ ([0-9]+)\.[0-9]\ MiB ]] || fail "no peak memory in '$err'"
sanitized || ((BASH_REMATCH[1] <= 150)) || fail "peak memory ${BASH_REMATCH[1]} MiB of a scene of 1"

# A fit of many bands works in matrices of bands x bands: the least --memory that is asked for is enough for them.
if ! sanitized; then
    header many 40 40 1000 12 bip
    head -c $((40 * 40 * 1000 * 2)) /dev/urandom >many.img
    for words in "mnf many.hdr out.img --noise mean3x3" "pca many.hdr out.img" "dimension many.hdr d.json" "cov many.hdr c.json"; do
        run 5 $words --memory 1M --device cpu --threads 2 --overwrite
        [[ $err =~ "needs at least "([0-9]+) ]] || fail "says $err"
        least=$((BASH_REMATCH[1] + 1))
        run 0 $words --memory ${least}M --device cpu --threads 2 --overwrite
        [[ $err =~ peak\ memory\ ([0-9]+)\.[0-9]\ MiB ]] || fail "no peak memory in '$err'"
        ((BASH_REMATCH[1] <= least)) || fail "$words: peak memory ${BASH_REMATCH[1]} MiB of $least"
    done
fi

# A scene in bands larger than --memory: what is read of it stays below. (The system maps whole windows of a file around
# each line of each band, and all of them counted as memory of the program.)
! sanitized || exit 77
header bands 1000 300 210 12 bsq
truncate -s $((1000 * 300 * 210 * 2)) bands.img
for chain in "cov s.json" "bands 1-50 ! write out.img"; do
    run 0 run "read bands.hdr ! $chain" --memory 100M --device cpu --threads 2 --overwrite
    [[ $err =~ peak\ memory\ ([0-9]+)\.[0-9]\ MiB ]] || fail "no peak memory in '$err'"
    ((BASH_REMATCH[1] <= 105)) || fail "$chain: peak memory ${BASH_REMATCH[1]} MiB of 100"
done
