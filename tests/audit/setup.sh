#!/usr/bin/env bash
# Checks which packages scripts/setup installs: those that dpkg does not call "installed". dpkg-query and apt-get are
# stand-ins; the test `scripts_setup` runs this.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/dpkg-query" <<'STAND_IN'
#!/usr/bin/env bash
case ${!#} in
cmake) printf 'not-installed ' ;;  # what an interrupted call leaves
gcc) printf 'half-installed ' ;;
g++) exit 1 ;;                     # never heard of
ninja-build) printf 'installed installed ' ;; # for two architectures
*) printf 'installed ' ;;
esac
STAND_IN
cat >"$folder/apt-get" <<'STAND_IN'
#!/usr/bin/env bash
echo "$*" >>"${0%/*}/asked"
STAND_IN
printf '#!/usr/bin/env bash\nexec "$@"\n' >"$folder/sudo"
chmod +x "$folder"/*

HCUBE_NO_INSTALL=0 PATH=$folder:$PATH scripts/setup 2>"$folder/said"
if [[ $(tail -n 1 "$folder/asked") != *" --no-install-recommends gcc g++ cmake" ]]; then
    echo "scripts/setup asked for: $(cat "$folder/asked" "$folder/said")" >&2
    exit 1
fi
