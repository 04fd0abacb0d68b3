#!/usr/bin/env bash
# Whether scripts/new-stage writes what compiles, for each model, and refuses what it must.
set -euo pipefail
# shellcheck source=tests/audit/scaffold.sh
source "$(dirname "${BASH_SOURCE[0]}")/scaffold.sh"
copy_of . ':!tests/fuzz/seeds/*/*'

refused new-stage "name the stage"
refused new-stage "a name is lower-case" Bad-Name
refused new-stage "filter.c exists already" filter
refused new-stage "knn.c exists already" knn
refused new-stage "the models are" fresh --like nothing
refused new-stage "unknown option" fresh --unlike filter
refused new-stage "one name, please" fresh other

read -ra flags < <(pkg-config --cflags libcjson cmocka)
compiles() {
    # The copy's own headers first: the list of stages has changed.
    cc -std=gnu17 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -I. "${flags[@]}" "$1"
}
# With what the model has defined, too, the program does not link.
defines_only() {
    local found
    cc -std=gnu17 -D_GNU_SOURCE -I. "${flags[@]}" -c -o fresh.o "$2"
    found=$(nm -P fresh.o | awk '$2 ~ /^[A-TV-Z]$/ { print $1 }')
    [[ $found == "$1" ]] || { printf '%s defines, instead of %s alone:\n%s\n' "$2" "$1" "$found" >&2; exit 1; }
}
for model in filter bands cov pca preview; do
    scripts/new-stage "fresh_$model" --like "$model" >/dev/null
    compiles "pipeline/stages/fresh_$model.c"
    defines_only "hc_stage_fresh_$model" "pipeline/stages/fresh_$model.c"
    compiles "tests/pipeline/stages/test_fresh_$model.c"
    grep -q 'fail_msg' "tests/pipeline/stages/test_fresh_$model.c"
done
compiles pipeline/stages/stage_list.c
every_gate
stages=$("${CC:-cc}" -E -I. $(pkg-config --cflags libcjson) pipeline/stages/stage_list.c | grep -o '&hc_stage_[a-z0-9_]*' | wc -l)
((stages >= 17)) || { echo "the list has $stages stages" >&2; exit 1; }
refused new-stage "exists already" fresh_pca
echo "five stages compile, and pass every gate"
