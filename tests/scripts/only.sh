#!/usr/bin/env bash
# What scripts/test builds and runs for --only and --quick, in a small project with tests named as those of hcube. One of
# its programs does not compile, so that a build of everything fails.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/scripts" "$copy/app" "$copy/ranks" "$copy/tests/support" "$copy/tests/core"
cp "$root/scripts/test" "$root/scripts/setup" "$copy/scripts"
cd "$copy"
export HCUBE_NO_INSTALL=1

cat >CMakePresets.json <<'PRESETS'
{
  "version": 6,
  "configurePresets": [{ "name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}" }],
  "buildPresets": [{ "name": "release", "configurePreset": "release" }],
  "testPresets": [{ "name": "release", "configurePreset": "release" }]
}
PRESETS
cat >CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(small C)
enable_testing()
foreach(folder app ranks tests/support tests/core)
  add_subdirectory(${folder})
endforeach()
add_test(NAME cli_svd COMMAND sh ${CMAKE_SOURCE_DIR}/case.sh $<TARGET_FILE:hcube> $<TARGET_FILE_DIR:stand_in>)
add_test(NAME scripts_setup COMMAND true)
PROJECT
echo 'add_executable(hcube ../main.c)' >app/CMakeLists.txt
echo 'add_library(hcube_mpi MODULE ../main.c)' >ranks/CMakeLists.txt
echo 'add_library(stand_in MODULE ../../main.c)' >tests/support/CMakeLists.txt
cat >tests/core/CMakeLists.txt <<'TESTS'
add_executable(test_svd ../../main.c)
add_test(NAME test_svd COMMAND test_svd)
add_executable(test_broken ../../broken.c)
add_test(NAME test_broken COMMAND test_broken)
set_tests_properties(test_broken PROPERTIES LABELS long)
TESTS
echo 'int main(void) { return 0; }' >main.c
echo 'int main(void) { return nothing; }' >broken.c
echo 'test -x "$1" && test -e "$2/libstand_in.so" && test -e "$2/../../ranks/libhcube_mpi.so"' >case.sh

fail() {
    printf 'scripts/test %s; it said:\n%s\n' "$*" "$(<said)" >&2
    exit 1
}
# runs COUNT OPTION...: these options run COUNT tests, which pass.
runs() {
    scripts/test "${@:2}" >said 2>&1 || fail "${*:2}: fails"
    [[ $(<said) == *"100% tests passed, 0 tests failed out of $1"* ]] || fail "${*:2}: does not run $1 tests"
}

runs 1 --only test_svd
[[ ! -e build/release/app/hcube ]] || fail "--only test_svd: builds the program"
runs 1 --only tests/app/cases/cli_svd.sh
rm -r build
runs 2 --only svd
runs 1 --only scripts_setup
! scripts/test --only test_broken >said 2>&1 || fail "--only test_broken: passes"
! scripts/test --only sv >said 2>&1 || fail "--only sv: passes"
[[ $(<said) == *"--only sv: there is no such test"* ]] || fail "--only sv: does not name it"
! scripts/test --quick >said 2>&1 || fail "--quick: does not build everything"
echo 'int main(void) { return 1; }' >broken.c
runs 3 --quick
! scripts/test >said 2>&1 || fail "passes though a test fails"
[[ $(<said) == *"release: 3 passed, 0 skipped, 1 failed"* ]] || fail "does not count the tests"
