#!/usr/bin/env bash
# Whether scripts/check-commits refuses each kind of message that it is to refuse, and takes those that are right.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
command -v git >/dev/null || {
    echo "skipped: git was not found"
    exit 77
}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$copy"
mkdir scripts
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.org
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
git init -q -b main .
commit() {
    git commit -q --allow-empty --cleanup=verbatim -F - <<<"$1"
}

failures=0
# says STATUS TEXT ARGUMENT...: scripts/check-commits ends with STATUS and says TEXT.
says() {
    local said status=0
    said=$(scripts/check-commits "${@:3}" 2>&1) || status=$?
    if ((status != $1)) || [[ $said != *"$2"* ]]; then
        printf 'check-commits %s: exit code %d instead of %d with "%s"; it said:\n%s\n' "${*:3}" "$status" "$1" "$2" "$said" >&2
        failures=$((failures + 1))
    fi
}
# right MESSAGE, wrong TEXT MESSAGE: the last commit has this message.
right() {
    commit "$1"
    says 0 "1 commits, all in order" -1
}
wrong() {
    commit "$2"
    says 1 "$1" -1
}

commit "What was before the script: is not looked at." # one that it would refuse
cp "$root/scripts/check-commits" scripts
says 0 "skipped"
git add scripts
commit $'scripts: check the messages of commits\n\nThey were too long.'
says 0 "1 commits, all in order"

why=$'\n\nA reason.'
right "io: read a header$why"
right "io, gpu: feed the blocks to GDAL's reader, as HDF5 does$why"
right "docs/files.md: pass over bands$why"
right "io: $(printf 'a%.0s' {1..68})$why"
wrong "has 73 characters" "io: $(printf 'a%.0s' {1..69})$why"
right "io: write $(printf 'é%.0s' {1..62})$why" # 72 characters, 134 bytes
wrong "does not begin with an area" "Read a header$why"
wrong "does not begin with an area" "the reader of headers: read them$why"
wrong "no imperative: 'reads'" "io: reads a header$why"
wrong "no imperative: 'added'" "io: added a header$why"
wrong "no imperative: 'adding'" "io: Adding a header$why"
wrong "no imperative: 'the'" "io: the header is read$why"
wrong "ends with a full stop" "io: read a header.$why"
wrong "the second line is not empty" $'io: read a header\nof files\n\nA reason.'
wrong "no body" "io: read a header"
wrong "no body" $'io: read a header\n\n  \n'
says 1 "11 of 17 commits"
git checkout -q -b other HEAD~3
commit "io: read another header$why"
git merge -q --no-ff -m "Merge the headers" main
says 1 "11 of 18 commits" # the merge itself is not counted
mkdir .ci
echo 'Read a header' >.ci/accepted-commits
says 1 "10 of 18 commits"
exit $((failures > 0))
