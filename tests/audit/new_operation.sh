#!/usr/bin/env bash
# Whether scripts/new-operation writes what compiles, for every backend, and refuses what it must.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if ! git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo "skipped: $root is no git repository"
    exit 77
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
(cd "$root" && git ls-files -z --cached --others --exclude-standard -- core cpu gpu bench scripts tests/conformance tests/support |
    while IFS= read -rd '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done | tar -cf - --null -T -) | tar -xf - -C "$copy"
cd "$copy"
git init -q .
git add -A

refused() {
    local text=$1 said status=0
    shift
    said=$(scripts/new-operation "$@" 2>&1) || status=$?
    if ((status != 2)) || [[ $said != *"$text"* ]]; then
        echo "new-operation $*: exit $status, not 2 with \"$text\": $said" >&2
        exit 1
    fi
}
refused "name the operation"
refused "a name is lower-case" Bad-Name
refused "gather.h exists already" gather
refused "belong to what an operation opens" fresh_open
refused "no such folder" fresh --family nothing
refused "name a folder" fresh --family
refused "unknown option" fresh --like gather
refused "one name, please" fresh other

read -ra flags < <(pkg-config --cflags openblas cmocka)
compiles() {
    cc -std=gnu17 -D_GNU_SOURCE -fopenmp -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Werror -I. "${flags[@]}" "$1"
}
abi() {
    sed -nE 's/^#define HC_COMPUTE_ABI ([0-9]+)$/\1/p' core/operation/table.h
}
before=$(abi)
scripts/new-operation fresh >/dev/null
scripts/new-operation zoom_out --family unmix >/dev/null # behind all others in the alphabet
(($(abi) == before + 2)) || { echo "the interface went from $before to $(abi)" >&2; exit 1; }
for file in core/compute.c core/operation/doors/{fresh,zoom_out}.c cpu/cpu.c cpu/image/fresh.c cpu/unmix/zoom_out.c \
    tests/support/strict{,_operations}.c tests/conformance/{fresh,zoom_out}.c; do
    compiles "$file"
done
if command -v nvcc >/dev/null; then
    for file in gpu/image/fresh.cu gpu/unmix/zoom_out.cu; do
        nvcc -std=c++17 -I. --Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Werror -ptx -o /dev/null "$file"
    done
fi
for name in fresh zoom_out; do
    grep -q '^    fail_msg' "tests/conformance/$name.c"
    entries=$("${CC:-cc}" -E -I. "${flags[@]}" -D_GNU_SOURCE -fopenmp cpu/cpu.c | grep -o "hc_cpu_$name\b" | wc -l)
    ((entries == 2)) || { echo "$name is $entries times in cpu/cpu.c, not declared and entered" >&2; exit 1; }
    refused "exists already" "$name"
done

# All but the rows of the bench, which are not written.
said=$(scripts/check-tree operations 2>&1) && exit 1
[[ $(grep -c 'has no row in bench/bench.c' <<<"$said") == 2 && $(grep -c '^check-tree: ' <<<"$said") == 3 ]] ||
    { echo "$said" >&2; exit 1; }
echo "two operations compile"
