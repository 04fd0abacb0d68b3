#!/usr/bin/env bash
# Which clang-format scripts/format takes, and whether --check fails: stand-ins have the versions 14 and 15.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/scripts" "$copy/bin"
cp "$root/scripts/format" "$root/scripts/setup" "$copy/scripts"
cd "$copy"
git init -q .
echo 'int right;' >right.c
echo 'int  wrong;' >wrong.c
git add right.c wrong.c

# A clang-format of that version, which knows one rule: there are no two blanks.
stand_in() {
    cat >"$1" <<STAND_IN
#!/usr/bin/env bash
[[ \$1 != --version ]] || { echo "clang-format version $2.0.6"; exit; }
for file; do
    [[ \$file == *.c ]] || continue
    case " \$* " in
    *" -Werror "*) ! grep -n '  ' "\$file" || exit 1 ;;
    *" -i "*) sed -i 's/  / /g' "\$file" ;;
    esac
done
STAND_IN
    chmod +x "$1"
}
failures=0
# expects STATUS TEXT OPTION...: scripts/format ends with STATUS and says TEXT.
expects() {
    local said status=0
    said=$(PATH=$copy/bin:$PATH HCUBE_NO_INSTALL=1 scripts/format "${@:3}" 2>&1) || status=$?
    if ((status != $1)) || [[ $said != *"$2"* ]]; then
        printf 'format %s: exit code %d instead of %d with "%s"; it said:\n%s\n' "${*:3}" "$status" "$1" "$2" "$said" >&2
        failures=$((failures + 1))
    fi
}

stand_in bin/clang-format 15
stand_in bin/clang-format-14 15
expects 3 "clang-format 14 was not found" --check
stand_in bin/clang-format 14
expects 123 "int  wrong;" --check
expects 0 "version 14.0.6" --check right.c
rm bin/clang-format
mkdir -p build/tools/clang-format/bin
stand_in build/tools/clang-format/bin/clang-format 14 # as pip would leave it
[[ $(command -v clang-format) ]] || expects 123 "int  wrong;" --check
stand_in bin/clang-format 14
expects 0 ""
expects 0 "formatted" --check
exit $((failures > 0))
