#!/usr/bin/env bash
# absent.sh LIBRARY OBJECT USER...: what the USERs call of the drawing part of LIBRARY, OBJECT has too, which takes its
# place in a build without cairo and pango.
set -euo pipefail
defined() { nm -P --defined-only "$@" | awk '$2 == "T" {print $1}' | sort -u; }
drawn=$(comm -23 <(defined "$1") <(nm -P --defined-only "$1" | awk '/^[^ ]*\[.*\]:$/ {part = $0} $2 == "T" && part ~ /(class_colours|figure|ramp|ticks)\.c/ {print $1}' | sort -u))
[[ $drawn ]] || { echo "absent: $1 draws nothing"; exit 1; }
called=$(nm -P -u "${@:3}" | awk '$2 == "U" {print $1}' | sort -u)
missing=$(comm -23 <(comm -12 <(echo "$drawn") <(echo "$called")) <(defined "$2"))
[[ $(comm -12 <(echo "$drawn") <(echo "$called")) ]] || { echo "absent: nothing of $1 is called"; exit 1; }
[[ ! $missing ]] || { echo "absent: figure/absent.c lacks $missing"; exit 1; }
