#!/usr/bin/env bash
# Whether scripts/check-tree notices what is missing: each registration is broken in a copy of the tree.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if ! command -v git >/dev/null || ! command -v python3 >/dev/null; then
    echo "skipped: git or python3 was not found"
    exit 77
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

if ! git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo "skipped: $root is no git repository"
    exit 77
fi
(cd "$root" && git ls-files -z --cached --others --exclude-standard -- ':!tests/fuzz/seeds/*/*' |
    while IFS= read -rd '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done | tar -cf - --null -T -) | tar -xf - -C "$copy"
(cd "$root" && for folder in tests/fuzz/seeds/*/; do mkdir -p "$copy/$folder" && touch "$copy/$folder/seed"; done)
cd "$copy"
git init -q .
git -c core.safecrlf=false add -A
git -c user.name=test -c user.email=test@example.org commit -qm copy

failures=0
# expects SECTION TEXT: the section fails and says so; the copy is then as it was.
expects() {
    local said status=0
    said=$(scripts/check-tree "$1" 2>&1) || status=$?
    if ((status != 1)) || [[ $said != *"$2"* ]]; then
        printf 'check-tree %s: exit %d instead of 1 with "%s"; it said:\n%s\n' "$1" "$status" "$2" "$said" >&2
        failures=$((failures + 1))
    fi
    git checkout -q . && git clean -fdq
}

scripts/check-tree libraries order stages words operations tests pages comments figures # nothing is broken yet

# Stages.
sed -i '/STAGE(filter)/d' pipeline/stages/stages.h
expects stages "stage filter has no line"
rm docs/stages/filter.md
expects stages "stage filter has no page"
rm tests/pipeline/stages/test_filter.c
expects stages "stage filter has no test"
sed -i 's/\.name = "filter"/.name = "filters"/' pipeline/stages/filter.c
expects stages "holds the stage filter, 'filters'"
mv pipeline/stages/filter.c pipeline/stages/knn/
expects stages "pipeline/stages/knn/filter.c holds the stage filter"
rm tests/pipeline/stages/knn/test_knn.c
expects stages "stage knn has no test"
mv pipeline/stages/knn/knn.c pipeline/stages/
expects stages "pipeline/stages/knn/knn_report.c belongs to no stage"
mv tests/pipeline/stages/knn tests/pipeline/stages/nothing
expects stages "tests/pipeline/stages/nothing/test_knn_library.c tests a stage that does not exist"
echo "# Nothing" >docs/stages/nothing.md
expects stages "describes a stage that does not exist"
for line in 'strcmp(stage->kind->name, "mnf")' 'before->kind != &hc_stage_mnf' 'hc_detect_method(stage) == &hc_detect_ace' 'kind == tap'; do
    echo "/* $line */" >>pipeline/stages/svd/svd.c
    expects stages "a flag or a hook of the kind says so"
done

# Lists, rows and examples of a stage that is gone.
rm -r pipeline/stages/kmeans docs/stages/kmeans.md tests/pipeline/stages/test_kmeans.c
sed -i '/STAGE(kmeans)/d' pipeline/stages/stages.h
said=$(scripts/check-tree words pages 2>&1) || true
for place in docs/gallery.md docs/stages/{detect,rx}.md pipeline/foreign.def tests/app/stage_chains.sh \
    tests/app/cases/{inputs_stay,mpi,ranks}.sh tests/audit/{gpu,threads,stages.py} tests/pipeline/test_gpu.c; do
    [[ $said == *"$place:"*": kmeans is no stage or command"* ]] ||
        { echo "check-tree words: $place names kmeans, which is gone, unnoticed" >&2; failures=$((failures + 1)); }
done
[[ $said == *"README.md links to docs/stages/kmeans.md"* ]] || { echo "README.md lists kmeans unnoticed" >&2; failures=$((failures + 1)); }
git checkout -q .

# Pages.
printf '%0121d\n' 0 >>docs/install.md
expects pages "has more than 120 characters"

# Comments.
sed -i '1s/.*/\/* gone.c: what no longer exists. *\//' core/text.h
expects comments "core/text.h:1: gone.c"
sed -i '1i int gone; // as in core/gone/gone.cuh' core/text.h
expects comments "core/text.h:1: core/gone/gone.cuh"

# Operations: a door that checks, a function in every backend, a case and a row.
for table in cpu/cpu.c gpu/gpu.cu tests/support/strict.c; do
    sed -i 's/HC_OPERATIONS(ENTRY)/.knn = NULL/' "$table"
    expects operations "$table does not take the entries of its table from HC_OPERATIONS"
done
for entry in eigh sums_fetch svd_batched; do
    sed -i "s/hc_cpu_$entry(/hc_cpu_other(/" cpu/*/*.c
    expects operations "operation $entry has no hc_cpu_$entry"
    sed -i "s/hc_gpu_$entry(/hc_gpu_other(/" gpu/gpu.cu gpu/*/*.cu
    expects operations "operation $entry has no hc_gpu_$entry"
    sed -i "s/hc_strict_$entry(/hc_strict_other(/" tests/support/strict/*.c
    expects operations "operation $entry has no hc_strict_$entry"
    sed -i "s/hc_$entry(/hc_other(/" core/operation/*/*.c
    expects operations "operation $entry has no door hc_$entry"
done
sed -i '/HC_OR_RETURN(check_alm(/d' core/operation/l1/l1.c
expects operations "hc_alm in core/operation checks no argument"
sed -i '/HC_OR_RETURN(check(/d' core/operation/image/gather.c
expects operations "hc_gather in core/operation checks no argument"
sed -i '1i #include "core/operation/table.h"' pipeline/stages/knn/knn.c
expects operations "pipeline/stages/knn/knn.c includes the table of all operations"
sed -i -E 's/^(CASE|SMALL)\(test_eigh/CASE(test_other/' tests/conformance/*.c
expects operations "operation eigh has no case"
sed -i 's/^SMALL(test_gather/CASE(test_gather/' tests/conformance/*.c
expects operations "operation gather has no small case"
sed -i 's/"gather"/"other"/' bench/rows/image.c
expects operations "operation gather has no row"
sed -i 's/^    ENTRY(gather, .*/&\n    ENTRY(fresh, HcGatherFn) \\/' core/operation/table.h
expects operations "operation fresh has no door hc_fresh"

# Tests, cases and harnesses.
sed -i '/test_moments/d' tests/core/CMakeLists.txt
expects tests "tests/core/test_moments.c is not in"
sed -i '/^hc_fuzz(npy /d' tests/fuzz/CMakeLists.txt
expects tests "tests/fuzz/npy.c is not in"
rm -r tests/fuzz/seeds/npy
expects tests "tests/fuzz/npy.c has no seeds"

sed -i '/CAPPED = {/,$s/"rx"/"other"/g' tests/audit/stages.py
expects tests "stage rx has no row in CAPPED of tests/audit/stages.py"
sed -i '/DISTURBED = {/,/^}/s/"dimension"/"other"/g' tests/audit/stages.py
expects tests "stage dimension has no row in DISTURBED of tests/audit/stages.py"

# Headers: one that needs another before it, and one that is no C++. Without the libraries, none compiles.
if scripts/check-tree headers >/dev/null 2>&1; then
    sed -i '/^#include/d' io/file_use.h
    expects headers "io/file_use.h does not compile alone with cc"
    sed -i 's/^#endif$/static inline void *hc_new_thing(int *class) { return class; }\n#endif/' core/system/flag.h
    expects headers "core/system/flag.h does not compile alone with c++"
    sed -i 's/^#endif$/static inline int hc_unused(int a) { int b = a; return 0; }\n#endif/' tests/support/check.h
    expects headers "tests/support/check.h does not compile alone with cc"
fi

# Libraries, links and sizes.
sed -i '1i #include <gdal.h>' pipeline/run/run.c
expects libraries "only io/ knows it"
sed -i '1i #pragma omp parallel' cpu/work.c
expects libraries "no room uses OpenMP"
sed -i '1i #include "pipeline/run/run.h"' pipeline/report/tables.c
expects order "pipeline/report/tables.c:1 includes pipeline/run/run.h, which lies above it"
sed -i '1i #include "pipeline/stages/stages.h"' pipeline/chain.c
expects order "pipeline/chain.c:1 includes pipeline/stages/stages.h, which lies above it"
mkdir pipeline/fresh && echo '#include "pipeline/fresh/fresh.h"' >pipeline/fresh/fresh.c
expects order "pipeline/fresh/fresh.c: give its folder a place"
printf 'ldd "$HCUBE" |%s -q lib\n' ' grep' >>tests/app/cases/help.sh
expects libraries "ends before its input does"
echo "[nowhere](nowhere.md)" >>README.md
expects pages "README.md links to nowhere.md"
for number in {1..1001}; do echo "int l$number;"; done >core/long.c
expects figures "core/long.c (1001)
  cure: move what one heading"
printf 'int f(void) {\n    int status = 0;\ndone:\n    return status;\n}\n' >core/idle.c
expects figures "core/idle.c:3"
for number in {10..40}; do echo "int i$number;" >"io/table/f$number.c"; done
expects figures "  cure: move files that belong together to a folder of their own"
echo 'touch docs/stages/more.md' >>scripts/new-stage
expects figures "files of a new stage: 6, beyond the limit"
rm pipeline/stages/write/write_*
expects figures "pipeline/stages/write (1)"

# Calls that make a circle of four files, at link level: only objects show it.
if command -v cc >/dev/null; then
    mkdir -p build/core/CMakeFiles/hc_core.dir
    for pair in one:two:three two:three:four three:four:one four:one:two; do
        IFS=: read -r name next other <<<"$pair"
        printf 'void %s(void);\nvoid %s(void);\nvoid %s(void) { %s(); }\n' "$name" "$next" "$name" "$next" >"core/$name.c"
        cc -c "core/$name.c" -o "build/core/CMakeFiles/hc_core.dir/$name.c.o"
    done
    said=$(scripts/tree-figures --circles build 2>&1) && status=0 || status=$?
    if ((status != 1)) || [[ $said != *"four.c one.c three.c two.c"* ]]; then
        printf 'tree-figures: a circle of four files went unnoticed (exit %d):\n%s\n' "$status" "$said" >&2
        failures=$((failures + 1))
    fi
    rm core/four.c # what is left is a chain
    for room in gpu/CMakeFiles/hcube_gpu io/CMakeFiles/hc_io; do
        printf '\nbuild %s.dir/one.o: CXX\n' "$room" >build/build.ninja
        said=$(scripts/tree-figures --circles build 2>&1) && status=0 || status=$?
        if ((status != 2)) || [[ $said != *"build ${room%%/*} first"* ]]; then
            printf 'tree-figures: %s without objects passed (exit %d):\n%s\n' "$room" "$status" "$said" >&2
            failures=$((failures + 1))
        fi
        rm build/build.ninja
    done
    if ! said=$(scripts/tree-figures --circles build 2>&1); then
        printf 'tree-figures: found a circle where there is none:\n%s\n' "$said" >&2
        failures=$((failures + 1))
    fi
fi

((failures == 0)) || exit 1
echo "all that was broken was noticed"
