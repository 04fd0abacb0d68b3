#!/usr/bin/env bash
# Whether scripts/release notices what is missing, and what it makes: in a small copy of the tree, with a stand-in for
# scripts/package.
#
#   tests/scripts/release.sh PROGRAM
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(realpath "${1:?"the program"}")
for tool in git objdump; do
    command -v "$tool" >/dev/null || {
        echo "skipped: $tool was not found"
        exit 77
    }
done
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.org
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
cd "$root"
mkdir -p "$copy/scripts" "$copy/bin"
cp --parents CMakeLists.txt CITATION.cff CHANGELOG.md README.md .gitignore docs/files.md docs/python.md python/pyproject.toml \
    qgis/hcube_provider/metadata.txt cmake/conda/recipe.yaml cmake/package/dependencies.tsv scripts/release scripts/setup \
    scripts/check-commits "$copy"
cd "$copy"
if command -v cffconvert >/dev/null && ! said=$(cffconvert --validate -i CITATION.cff 2>&1); then
    echo "release: CITATION.cff is not valid: $said" >&2
    exit 1
fi
version=$(sed -nE 's/^project\(hcube VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
cat >scripts/package <<PACKAGE
#!/usr/bin/env bash
mkdir -p build/package
echo package >build/package/hcube_\${PACKAGED:-$version}_amd64.deb
PACKAGE
printf '#!/usr/bin/env bash\n[[ $(<CITATION.cff) != *nonsense* ]] || { echo "nonsense is no key"; exit 1; }\n' >bin/cffconvert
chmod +x scripts/package bin/cffconvert
export PATH=$copy/bin:$PATH
# As it is on the day of a release.
sed -i -E "0,/^## .*/s//## $version (2026-12-01)/" CHANGELOG.md
sed -i '/^date-released/d' CITATION.cff
echo "date-released: '2026-12-01'" >>CITATION.cff
mkdir -p build/release/app
ln -s "$program" build/release/app/hcube

failures=0
# ready: is committed, and tested in both systems.
ready() {
    local suite
    git init -q -b main .
    git add -A
    git commit -q -m $'scripts: begin a release\n\nA reason.'
    mkdir -p build/fresh
    for suite in bookworm trixie; do
        printf 'then\t%s\t%s\tpass\n' "$(git rev-parse HEAD)" "$suite"
    done >build/fresh/results
}
# says STATUS TEXT OPTION...: scripts/release ends with STATUS and says TEXT.
says() {
    local said status=0
    said=$(scripts/release "${@:3}" 2>&1) || status=$?
    if ((status != $1)) || [[ $said != *"$2"* ]]; then
        printf 'release %s: exit code %d instead of %d with "%s"; it said:\n%s\n' "${*:3}" "$status" "$1" "$2" "$said" >&2
        failures=$((failures + 1))
    fi
}
# lacks TEXT: --check says that alone, but for the tree, which has changed; the copy is then as it was.
lacks() {
    says 1 "$1" --check
    git checkout -q .
}

ready
says 0 "hcube $version is ready" --check

for file in python/pyproject.toml qgis/hcube_provider/metadata.txt CITATION.cff cmake/conda/recipe.yaml docs/files.md; do
    sed -i -E "s/(version\"?[=: ]+\"?)$version/\19.9.9/" "$file"
    lacks "$file: version '9.9.9', but $version"
done
sed -i "s/hcube_$version/hcube_9.9.9/" docs/python.md
lacks "docs/python.md: hcube_9.9.9, but $version"
sed -i -E '0,/^## .*/s//## Unreleased/' CHANGELOG.md
lacks "the first section is not '## $version (YYYY-MM-DD)'"
sed -i 's/2026-12-01/2026-12-02/' CITATION.cff
lacks "date-released '2026-12-02', but '2026-12-01' in CHANGELOG.md"
echo nonsense >>CITATION.cff
lacks "CITATION.cff is not valid: nonsense is no key"
sed -i '/libgdal/d' cmake/package/dependencies.tsv
lacks "libgdal.so has no line"
sed -i 's/libpng-dev/libfresh-dev libpng-dev/' scripts/setup
lacks "libfresh-dev of scripts/setup has no line"
touch new
says 1 "changes that are not committed" --check
rm new
git tag "v$version" HEAD
says 0 "is ready" --check
git commit -q --allow-empty -m $'scripts: go on after it\n\nA reason.'
says 1 "v$version is the tag of another commit" --check
git tag -d "v$version" >/dev/null
says 1 "did not pass in a minimal trixie" --check
says 1 "is not ready"
[[ ! -e build/dist ]] || { echo "release: makes files although a check fails" >&2 && exit 1; }
git commit -q --allow-empty -m 'Broken'
says 1 "scripts/check-commits fails" --check
git reset -q --hard HEAD~2
printf 'then\t%s\ttrixie\tfail\n' "$(git rev-parse HEAD)" >>build/fresh/results
says 1 "did not pass in a minimal trixie" --check

# What it makes, from the same commit the same bytes.
says 0 "is not ready: 1 problems" --draft
cp build/dist/SHA256SUMS first
says 0 "made in build/dist/" --draft
diff first build/dist/SHA256SUMS
(cd build/dist && sha256sum --quiet -c SHA256SUMS)
[[ $(wc -l <first) == 3 ]] || { echo "release: SHA256SUMS has not 3 lines: $(<first)" >&2 && exit 1; }
tar -xzf "build/dist/hcube-$version.tar.gz" -C build
diff <(cd "build/hcube-$version" && find . -type f | sort) <(git ls-files | sed 's@^@./@' | sort)
for text in "PackageName: GDAL" "PackageLicenseDeclared: Apache-2.0" "Relationship: SPDXRef-hcube DYNAMIC_LINK SPDXRef-library-1"; do
    grep -qxF "$text" "build/dist/hcube-$version.spdx" || { echo "release: the SPDX list lacks '$text'" >&2 && exit 1; }
done
PACKAGED=9.9.9 says 1 "has another version than $version" --draft
exit $((failures > 0))
