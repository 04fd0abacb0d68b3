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
