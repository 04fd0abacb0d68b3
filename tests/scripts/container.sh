#!/usr/bin/env bash
# Whether scripts/container knows every step of Containerfile, and what it makes of a small one.
#
# The whole Containerfile takes half an hour, and needs root and the network: HCUBE_CONTAINER=1 runs it for the CPU as well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'container: %s\n' "$*" >&2
    exit 1
}
# Whether this text is one of the lines of the text after it.
has_line() {
    [[ $'\n'"$2"$'\n' == *$'\n'"$1"$'\n'* ]]
}

# The steps for the CPU are the set-up, build and trial of scripts/demo, and the packages of scripts/package.
cpu=$(scripts/container --list)
for step in "FROM debian:trixie-slim AS build" "RUN scripts/demo" "COPY --from=build /packages /packages" 'ENTRYPOINT ["hcube"]'; do
    has_line "$step" "$cpu" || fail "there is no step '$step' for the CPU: $cpu"
done
[[ $cpu != *gpu* || $cpu == *--no-gpu* ]] || fail "the GPU module is built for the CPU: $cpu"
gpu=$(scripts/container --list gpu)
has_line "FROM build AS build-gpu" "$gpu" || fail "the GPU module is not built from the stage build: $gpu"
[[ $gpu == *hcube-gpu_*.deb* ]] || fail "the GPU module is not installed: $gpu"
for script in $(sed -nE 's/^RUN .*(scripts\/[a-z-]+).*/\1/p' Containerfile); do
    [[ -x $script ]] || fail "Containerfile: there is no $script"
done
! said=$(scripts/container --list nothing 2>&1) || fail "takes a stage that is not there"
[[ $said == *"there is no stage nothing"* ]] || fail "says of it: $said"

# Lines that go on, and the stages that one needs.
cat >"$work/Containerfile" <<'STEPS'
# A comment
FROM debian:trixie-slim AS one
RUN echo a \
    && echo b

FROM debian:trixie-slim AS other
RUN echo c
FROM debian:trixie-slim AS last
COPY --from=one /a /b
STEPS
listed=$(HCUBE_CONTAINERFILE=$work/Containerfile scripts/container --list)
expected='FROM debian:trixie-slim AS one
RUN echo a && echo b
FROM debian:trixie-slim AS last
COPY --from=one /a /b'
[[ $listed == "$expected" ]] || fail "lists other steps: $listed"

if [[ ${HCUBE_CONTAINER:-} == 1 ]]; then
    scripts/container cpu 'hcube info /usr/share/hcube/sample_data/scene.hdr'
fi
