# Pictures whose letters get no thread, no memory or no font: exit code 5 with a line. A crash leaves no temporary file.
! sanitized || exit 77 # it reports crashes itself
ulimit -c 0
words=(run --device cpu --threads 2 read "$scene" ! write out.tif ! figure f.png --bands 1,2,3 --record none)

# fail_call GROUP SCOPE N TIMES: the run where the Nth of these calls fails (and, with 0, all behind it); sets status and log.txt.
fail_call() {
    status=0
    HCUBE_FAIL=$1 HCUBE_FAIL_SCOPE=$2 HCUBE_FAIL_AT=$3 HCUBE_FAIL_TIMES=$4 LD_PRELOAD=$MODULES/fail_at.so \
        timeout -k 5 60 "$HCUBE" "${words[@]}" >log.txt 2>&1 || status=$?
}
# refused PART: by one line behind the notes, and nothing is left.
refused() {
    [[ $status == 5 ]] && holds "$(tail -n 1 log.txt)" "hcube ... $1" || fail "exit code $status: $(<log.txt)"
    [[ $(grep -c '^hcube: ' log.txt) == 1 ]] || fail "says more than a line: $(<log.txt)"
    only log.txt
}
# Each thread that hcube tries, and each that the libraries start.
found=0
for ((call = 1; call <= 60; call++)); do
    fail_call thread:EAGAIN own $call 0
    [[ $status != 0 ]] || break
    refused "could not be started"
    found=$((found + ($(grep -c 'looks for fonts' log.txt || true))))
done
((found > 0 && call <= 60)) || fail "$found of $call threads were tried for fonts"
rm -f out.* f.png
for call in 1 2 3; do
    fail_call thread:EAGAIN libglib $call 0
    refused "figure could not be drawn: creating thread"
done
for call in 1 10 100; do
    fail_call alloc libglib $call 1
    refused "a figure could not be drawn: "
done

# Without any font.
echo '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig></fontconfig>' >none.conf
export FONTCONFIG_FILE=$PWD/none.conf
refuse 5 "no font is installed (Debian: fonts-dejavu-core)" "${words[@]}"
only none.conf log.txt
# A batch does not take it for a fault of the scene.
run 9 batch figure 'out/{stem}.png' --bands 1,2,3 ! write --scenes "$scene" --output 'out/{stem}.tif' --device cpu
[[ $err == *"no font is installed"* && -z $(ls -A out) ]] || fail "left $(ls -A out): $err"
unset FONTCONFIG_FILE
run 0 batch figure 'out/{stem}.png' --bands 1,2,3 ! write --scenes "$scene" --output 'out/{stem}.tif' --device cpu
rm -rf out none.conf

# A crash while one output is written and another one begins.
. "$here/pause.sh"
for signal in SEGV ABRT TRAP BUS; do
    begin 'mkdir *.f.png.[0-9]*.partial' "${words[@]}"
    next 1
    [[ -n $(find . -name '.*.partial') ]] || fail "no temporary file at $signal"
    kill -s $signal "$process"
    ended $([[ $signal == BUS ]] && echo 4 || echo $((128 + $(kill -l $signal))))
    [[ $signal == BUS || $(tail -n 1 log.txt) == "hcube: ended by a crash"* ]] || fail "says $(<log.txt)"
    only events events.1 events.2 log.txt
done
