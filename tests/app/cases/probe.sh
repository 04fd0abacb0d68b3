# A file that crashes a library is refused: another process opens it first (io/guard/probe.c). Here HDF5 crashes on all.
[[ -x $MODULES/flaw ]] || exit 77 # needs HDF5
export ASAN_OPTIONS=handle_segv=0:verify_asan_link_order=0:${ASAN_OPTIONS:-}
mkdir in
{
    printf '\211HDF\r\n\032\n'
    head -c 4000 /dev/zero
} >in/bad.nc
crashing() {
    LD_PRELOAD=$MODULES/crash_at.so refuse 3 "structure is broken ... signal 11" "$@"
}
crashing info in/bad.nc
crashing run read in/bad.nc ! write out.img
crashing run read "$scene" --mask in/bad.nc ! write out.img
[[ ! -e out.img ]] || fail "wrote out.img"
# In a batch that scene fails, and the others are done.
cp "$scene" "${scene%.hdr}.img" in
mkdir out
printf 'in/bad.nc\nin/scene.hdr\n' >list.txt
LD_PRELOAD=$MODULES/crash_at.so run 9 batch bands 1-2 --scenes list.txt --output 'out/{stem}.img' --jobs 1 --device cpu
[[ -e out/scene.img && -e out/bad.img.hcube-failed.json ]] || fail "left $(ls -A out)"
# The process that opens a file first starts no other one.
bash -c 'exec -a hcube-probe "$1" info "$2"' - "$HCUBE" "$scene" >probe.txt || fail "hcube-probe ends with $?"
grep -q "100 lines x 100 samples" probe.txt || fail "says $(<probe.txt)"
