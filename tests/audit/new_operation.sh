#!/usr/bin/env bash
# Whether scripts/new-operation writes what compiles, for every backend, and refuses what it must.
set -euo pipefail
# shellcheck source=tests/audit/scaffold.sh
source "$(dirname "${BASH_SOURCE[0]}")/scaffold.sh"
copy_of . ':!tests/fuzz/seeds/*/*'

refused new-operation "name the operation"
refused new-operation "a name is lower-case" Bad-Name
refused new-operation "gather.h exists already" gather
refused new-operation "belong to what an operation opens" fresh_open
refused new-operation "no such folder" fresh --family nothing
refused new-operation "name a folder" fresh --family
refused new-operation "unknown option" fresh --like gather
refused new-operation "one name, please" fresh other

read -ra flags < <(pkg-config --cflags openblas cmocka)
compiles() {
    cc -std=gnu17 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Werror -I. "${flags[@]}" "$1"
}
abi() {
    sed -nE 's/^#define HC_COMPUTE_ABI ([0-9]+)$/\1/p' core/operation/table.h
}
before=$(abi)
scripts/new-operation fresh >/dev/null
scripts/new-operation zoom_out --family unmix >/dev/null # last in its family
(($(abi) == before + 2)) || { echo "the interface went from $before to $(abi)" >&2; exit 1; }
for file in core/compute.c core/operation/{image/fresh,unmix/zoom_out}.c cpu/cpu.c cpu/image/fresh.c cpu/unmix/zoom_out.c \
    tests/support/strict.c tests/support/strict/{image,unmix}.c bench/rows/image.c tests/conformance/{fresh,zoom_out}.c; do
    compiles "$file"
done
if command -v nvcc >/dev/null; then
    for file in gpu/image/fresh.cu gpu/unmix/zoom_out.cu; do
        nvcc -std=c++17 -I. --Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Werror -ptx -o /dev/null "$file"
    done
fi
for name in fresh zoom_out; do
    grep -q '^    fail_msg' "tests/conformance/$name.c"
    entries=$("${CC:-cc}" -E -I. "${flags[@]}" -D_GNU_SOURCE cpu/cpu.c | grep -o "hc_cpu_$name\b" | wc -l)
    ((entries == 2)) || { echo "$name is $entries times in cpu/cpu.c, not declared and entered" >&2; exit 1; }
    refused new-operation "exists already" "$name"
done

every_gate
echo "two operations compile, and pass every gate"
