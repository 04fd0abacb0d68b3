#!/usr/bin/env bash
# Whether scripts/new-stage writes what compiles, for each model, and refuses what it must.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if ! git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo "skipped: $root is no git repository"
    exit 77
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
(cd "$root" && git ls-files -z --cached --others --exclude-standard -- pipeline scripts tests/pipeline tests/support docs core io ranks |
    while IFS= read -rd '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done | tar -cf - --null -T -) | tar -xf - -C "$copy"
cd "$copy"
git init -q .
git add -A

refused() {
    local text=$1 said status=0
    shift
    said=$(scripts/new-stage "$@" 2>&1) || status=$?
    if ((status != 2)) || [[ $said != *"$text"* ]]; then
        echo "new-stage $*: exit $status, not 2 with \"$text\": $said" >&2
        exit 1
    fi
}
refused "name the stage"
refused "a name is lower-case" Bad-Name
refused "filter.c exists already" filter
refused "the models are" fresh --like nothing
refused "unknown option" fresh --unlike filter
refused "one name, please" fresh other

read -ra flags < <(pkg-config --cflags libcjson cmocka)
compiles() {
    # The copy's own headers first: the list of stages has changed.
    cc -std=gnu17 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -I. "${flags[@]}" "$1"
}
for model in filter bands cov pca preview; do
    scripts/new-stage "fresh_$model" --like "$model" >/dev/null
    compiles "pipeline/stages/fresh_$model.c"
    compiles "tests/pipeline/stages/test_fresh_$model.c"
    grep -q 'fail_msg' "tests/pipeline/stages/test_fresh_$model.c"
done
compiles pipeline/stage_list.c
scripts/check-tree stages
stages=$("${CC:-cc}" -E -I. $(pkg-config --cflags libcjson) pipeline/stage_list.c | grep -o '&hc_stage_[a-z0-9_]*' | wc -l)
((stages >= 17)) || { echo "the list has $stages stages" >&2; exit 1; }
refused "exists already" fresh_pca
echo "five stages compile"
