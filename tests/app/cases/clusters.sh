# The examples of docs/clusters.md: workers by the index of a Kubernetes Job and of an array of AWS Batch divide a list, and a
# worker that is started again with its number does what is left. CWL where cwltool is installed, Slurm where a node is up.
page=$SAMPLE/../docs/clusters.md
[[ -r $page ]] || exit 77

# The block whose first lines name it: block NAME
block() {
    awk -v name="# $1" '
        /^    / { line = substr($0, 5); if (line == name) on = 1; if (on) print line; next }
        /^$/ { if (on) held = 1; next }
        { if (on) exit }' "$page" | awk 'NR > 1 && /^# [a-zA-Z]/ { exit } { print }'
}
mkdir bin archive out
printf '#!/bin/sh\nexec %q "$@"\n' "$HCUBE" >bin/hcube
chmod +x bin/hcube
export PATH=$PWD/bin:$PATH
for s in 1 2 3 4 5 6 7 8 9; do
    cp "$SAMPLE/scene.hdr" "archive/s$s.hdr"
    cp "$SAMPLE/scene.img" "archive/s$s.img"
done
printf '%s\n' archive/s?.hdr >archive/list.txt
run 0 run read archive/s1.hdr ! mnf --components 20 ! write expected.tif

# The command of a container, here: paths and memory are those of this test, the outputs lie in a folder.
here() {
    sed -e "s#/archive/list#archive/list#; s#--output '[^']*'#--output 'out/{stem}_mnf.tif'#; s#--memory 12G#--memory 512M --device cpu#"
}
# All workers but one; that one, which vanishes before it has begun, comes last: divide INDEX SCRIPT
divide() {
    local index=$1 script=$2 worker
    [[ $(<"$script") == *"$index + 1"* ]] || fail "$script does not use $index: $(<"$script")"
    rm -rf out && mkdir out
    for worker in 0 1 2 4 5 6 7; do
        env "$index=$worker" sh -c "$(<"$script")" >said 2>&1 || fail "worker $worker: $(<said)"
    done
    done=(out/*.tif)
    ((${#done[@]} == 8)) || fail "seven workers of eight made ${#done[@]} of 9 outputs"
    env "$index=3" sh -c "$(<"$script")" >said 2>&1 || fail "worker 3: $(<said)"
    for s in 1 2 3 4 5 6 7 8 9; do
        cmp expected.tif "out/s${s}_mnf.tif" || fail "s$s has other values"
    done
    env "$index=0" sh -c "$(<"$script")" >said 2>&1
    [[ $(<said) == *"2 complete before"* ]] || fail "a second run does complete scenes again: $(<said)"
}
block hcube-job.yaml >hcube-job.yaml
sed -n '/- >-/,/--memory/p' hcube-job.yaml | sed 1d | tr '\n' ' ' | here >job.sh
divide JOB_COMPLETION_INDEX job.sh
if kubernetes-validate --version >/dev/null 2>&1; then
    kubernetes-validate --strict hcube-job.yaml >said 2>&1 || fail "Kubernetes: $(<said)"
elif kubeconform -v >/dev/null 2>&1; then
    kubeconform -strict hcube-job.yaml >said 2>&1 || fail "Kubernetes: $(<said)"
fi
block worker.sh | sed 's/exec //' | here >child.sh
divide AWS_BATCH_JOB_ARRAY_INDEX child.sh
block hcube-definition.json | sed 1d >hcube-definition.json
python3 -c 'import json; json.load(open("hcube-definition.json"))' 2>said || [[ ! $(command -v python3) ]] || fail "$(<said)"

if cwltool --version >/dev/null 2>&1; then
    block hcube-mnf.cwl >hcube-mnf.cwl
    block hcube-archive.cwl >hcube-archive.cwl
    cp "$SAMPLE"/scene.{hdr,img} .
    block job.yml >job.yml
    cwltool --validate hcube-mnf.cwl >said 2>&1 && cwltool --validate hcube-archive.cwl >said 2>&1 || fail "$(<said)"
    cwltool --outdir made hcube-archive.cwl job.yml >said 2>&1 || fail "cwltool: $(<said)"
    run 0 run read scene.hdr ! mnf --components 10 ! write by_hand.tif
    cmp by_hand.tif made/mnf.tif || fail "CWL has other values"
fi

if [[ $(sinfo -h -o %T 2>/dev/null) == *idle* ]]; then
    printf '#!/bin/sh\n%s\n' "hcube batch mnf --components 20 --scenes archive/list.txt --output 'shared/{stem}_mnf.tif' --device cpu --memory 512M" >array.sh
    sbatch --wait --array=1-2 --chdir="$PWD" array.sh >said 2>&1 || fail "Slurm: $(<said) $(cat slurm-*.out)"
    for s in 1 2 3 4 5 6 7 8 9; do
        cmp expected.tif "shared/s${s}_mnf.tif" || fail "Slurm: s$s has other values"
    done
fi
