#!/usr/bin/env bash
# Whether CMake copes with systems that have parts of what it looks for: MPI without headers, linkers that lack C++.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
linker_of_system=$(command -v ld)

fail() {
    echo "configure: $*" >&2
    cat "$work/said" >&2
    exit 1
}

# configure FOLDER OPTION...: what it says is in the file said.
configure() {
    cmake -S "$root" -B "$work/$1" -G Ninja "${@:2}" >"$work/said" 2>&1
}

# As Open MPI's compiler is where only the runtime is installed: it names a folder of headers that is not there.
cat >"$work/bin/mpicc" <<'STUB'
#!/bin/sh
case " $* " in
*-show*) echo "cc -I/nonexistent/include -lm" ;;
*) exec cc -I/nonexistent/include "$@" ;;
esac
STUB
# A linker that links C alone.
for linker in ld.lld ld.gold; do
    cat >"$work/bin/$linker" <<STUB
#!/bin/sh
case " \$* " in
*" -lstdc++ "*) exit 1 ;;
*) exec $linker_of_system "\$@" ;;
esac
STUB
done
chmod +x "$work"/bin/*
export PATH=$work/bin:$PATH

configure auto "-DMPI_C_COMPILER=$work/bin/mpicc" || fail "stops where MPI has no headers"
grep -q "MPI is not used" "$work/said" || fail "does not say that MPI is not used"
! configure insists "-DMPI_C_COMPILER=$work/bin/mpicc" -DHCUBE_MPI=ON || fail "goes on without the MPI that was asked for"
grep -q "HCUBE_MPI=ON: no program compiles" "$work/said" || fail "does not say why it stops"
! grep -q -- '-fuse-ld=' "$work/auto/build.ninja" || fail "takes a linker that does not link C++"
