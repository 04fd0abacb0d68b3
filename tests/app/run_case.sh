#!/usr/bin/env bash
# Runs one case of the command line in a clean folder: run_case.sh HCUBE SAMPLE_DATA MODULES CASE
# A case is a shell script that ends at the first command that fails. Exit code 77 means skipped.
set -euo pipefail

HCUBE=$1
SAMPLE=$2
MODULES=$3
case_file=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/hcube-case-XXXXXX")
trap 'status=$?; rm -rf "$folder"; exit $status' EXIT
cd "$folder"
. "$here/lib.sh"
trap 'echo "$case_file: line $LINENO failed: $BASH_COMMAND" >&2; show_last' ERR
. "$case_file"
