# Exceptions of C++ libraries that nobody catches, and fatal errors of GDAL: lack of memory and threads is exit code 5 with one
# line, anything else SIGABRT; no temporary file stays. A failed assertion is not told as lack of memory.
! sanitized || exit 77 # it wants to be first
throw() { # what, words: sets status and log.txt
    status=0
    (ulimit -c 0 && HCUBE_THROW=$1 LD_PRELOAD=$MODULES/throw_at.so exec "$HCUBE" "${@:2}") >log.txt 2>&1 || status=$?
}
words=(write "$scene" out.tif --co BIGTIFF=IF_NEEDED --device cpu --quiet) # GDAL writes the tiles
throw memory "${words[@]}"
[[ $status == 5 && $(wc -l <log.txt) == 1 && $(<log.txt) == "hcube: out of memory: "* ]] || fail "exit code $status: $(<log.txt)"
only log.txt
throw threads "${words[@]}"
[[ $status == 5 && $(wc -l <log.txt) == 1 && $(<log.txt) == "hcube: out of threads: "* ]] || fail "exit code $status: $(<log.txt)"
only log.txt
throw fatal "${words[@]}"
[[ $status == 5 && $(wc -l <log.txt) == 1 && $(<log.txt) == "hcube: out of memory: GDAL "*"CPLRealloc()"* ]] ||
    fail "exit code $status: $(<log.txt)"
only log.txt
throw other "${words[@]}"
[[ $status == 134 && $(<log.txt) == "hcube: ended by an exception"*": vector too long"* ]] || fail "exit code $status: $(<log.txt)"
only log.txt
throw abort "${words[@]}"
[[ $status == 134 && $(<log.txt) != *memory* ]] || fail "exit code $status: $(<log.txt)"
only log.txt
# A batch blames no scene for it.
mkdir in
cp "$scene" in/s.hdr
cp "$SAMPLE/scene.img" in/s.img
batch=(batch bands --keep 1-3 ! write --co BIGTIFF=IF_NEEDED --scenes in --output 'out/{stem}.tif' --device cpu)
throw memory "${batch[@]}"
[[ $status == 9 && -z $(ls -A out) ]] || fail "exit code $status, left $(ls -A out): $(<log.txt)"
run 0 "${batch[@]}"
[[ $err == *"1 done"* ]] || fail "$err"
