# Shared by the tests of scripts/new-*: a copy of the tree to write into, and what the scripts refuse. Sourced by bash.

# copy_of FOLDER...: goes into a new copy of these folders of the project, a repository of its own.
copy_of() {
    local root
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
    if ! git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        echo "skipped: $root is no git repository"
        exit 77
    fi
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    (cd "$root" && git ls-files -z --cached --others --exclude-standard -- "$@" |
        while IFS= read -rd '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done | tar -cf - --null -T -) | tar -xf - -C "$copy"
    cd "$copy"
    git init -q .
    git add -A
}

# refused SCRIPT TEXT ARGUMENT...: SCRIPT ends with exit code 2 and says TEXT.
refused() {
    local script=$1 text=$2 said status=0
    shift 2
    said=$("scripts/$script" "$@" 2>&1) || status=$?
    if ((status != 2)) || [[ $said != *"$text"* ]]; then
        echo "$script $*: exit $status, not 2 with \"$text\": $said" >&2
        exit 1
    fi
}

# every_gate: what a commit of the copy has to pass: the checks of the tree, and the format where its program is there.
every_gate() {
    local said
    mkdir -p tests/fuzz/seeds
    sed -nE 's/^hc_fuzz\(([a-z0-9_]+) .*/\1/p' tests/fuzz/CMakeLists.txt | while read -r name; do
        mkdir -p "tests/fuzz/seeds/$name"
    done
    git add -A
    said=$(scripts/check-tree 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
    HCUBE_NO_INSTALL=1 scripts/format --check >/dev/null || (($? == 3)) || { echo "what it writes is not formatted" >&2; exit 1; }
}
