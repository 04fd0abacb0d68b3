# What cannot be printed is a failure, except that nobody looks at a closed pipe.
status=0
"$HCUBE" stages >/dev/full 2>err.txt || status=$?
[[ $status == 4 ]] || fail "stages into a full device: exit code $status"
[[ $(cat err.txt) == *"standard output"* ]]
status=0
"$HCUBE" info "$scene" >/dev/full 2>err.txt || status=$?
[[ $status == 4 ]] || fail "info into a full device: exit code $status"
status=0
"$HCUBE" info "$scene" >&- 2>err.txt || status=$?
[[ $status == 4 ]] || fail "info with standard output closed: exit code $status"
# A run writes its results to files: closed streams do not harm them.
"$HCUBE" mnf "$scene" out.img --components 2 >&- 2>&- <&-
[[ $(stat -c %s out.img) == 80000 ]]
"$HCUBE" mnf "$scene" out2.img --components 2 -q
cmp out.img out2.img
