#!/usr/bin/env bash
# What scripts/editor writes, and which files scripts/tidy takes: in a small project with a room, by a stand-in for clang-tidy.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/scripts" "$copy/core" "$copy/cmake" "$copy/bin"
cp "$root/scripts/editor" "$root/scripts/tidy" "$root/scripts/setup" "$copy/scripts"
cp "$root/cmake/Rooms.cmake" "$copy/cmake"
cd "$copy"
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.org
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export HCUBE_NO_INSTALL=1 PATH=$copy/bin:$PATH

cat >CMakePresets.json <<'PRESETS'
{
  "version": 6,
  "configurePresets": [{ "name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}" }]
}
PRESETS
cat >CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(small C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
include(cmake/Rooms.cmake)
add_subdirectory(core)
PROJECT
echo 'hc_room(core EXCEPT gone.c new.c)' >core/CMakeLists.txt
echo '#include "core/old.h"' | tee core/old.c core/changed.c core/gone.c >core/new.c
echo 'extern int old;' >core/old.h
# Finds something in files with the word "wrong".
printf '#!/usr/bin/env bash\nfor file; do echo "looked at $file"; ! grep -s wrong "$file" || exit 1; done\n' >bin/clang-tidy
chmod +x bin/clang-tidy
printf '/build/\n/compile_commands.json\n/bin/\n/said\n' >.gitignore
git init -q -b main .
git add . ':!core/new.c'
git commit -qm 'small: begin'

fail() {
    printf '%s; it said:\n%s\n' "$*" "$(<said)" >&2
    exit 1
}
scripts/editor >said 2>&1 || fail "editor: fails"
[[ $(<said) == *"compile_commands.json: 2 files, preset release"* ]] || fail "editor: counts other files"
! grep -q /rooms/ compile_commands.json || fail "editor: leaves links: $(<compile_commands.json)"
grep -q -- "-I$copy " compile_commands.json || fail "editor: does not name the root: $(<compile_commands.json)"

# tidy takes FILES OPTION...: scripts/tidy passes and looks at these files.
takes() {
    scripts/tidy "${@:2}" >said 2>&1 || fail "tidy ${*:2}: fails"
    [[ $(sed -n 's/^looked at \(core.*\)/\1/p' said | sort | paste -sd' ') == "$1" ]] || fail "tidy ${*:2}: takes other files than $1"
}
takes core/new.c
echo 'int changed;' >>core/changed.c
takes "core/changed.c core/new.c"
git checkout -q -b branch
git commit -qam 'small: change'
takes "core/changed.c core/new.c"
takes core/new.c --since HEAD
takes core/old.c core/old.c
git rm -q core/gone.c
takes "core/changed.c core/new.c"
echo 'int wrong;' >>core/new.c
! scripts/tidy >said 2>&1 || fail "tidy: passes though something was found"
