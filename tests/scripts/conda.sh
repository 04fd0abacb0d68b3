#!/usr/bin/env bash
# Whether the conda recipe renders, for CPU and CUDA, and names the version of CMakeLists.txt. HCUBE_RATTLER_PYTHON names a
# Python that has py-rattler-build where python3 has not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${HCUBE_RATTLER_PYTHON:-python3}
"$python" -c 'import rattler_build' 2>/dev/null || {
    echo "skipped: py-rattler-build was not found"
    exit 77
}
"$python" - "$(sed -nE 's/^project\(hcube VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)" <<'PROGRAM'
import sys
import rattler_build

recipe = rattler_build.Stage0Recipe.from_file("cmake/conda/recipe.yaml")


def rendered(variant):
    found = recipe.render(rattler_build.VariantConfig(variant))
    assert len(found) == 1, f"{variant}: {len(found)} packages instead of one"
    return found[0].recipe.to_dict()


cpu = rendered({})
gpu = rendered({"cuda_compiler_version": ["12.9"], "cuda_compiler": ["cuda-nvcc"]})
for package in (cpu, gpu):
    assert package["package"] == {"name": "hcube", "version": sys.argv[1]}, package["package"]
    assert "libgdal-core >=3.6" in package["requirements"]["host"], package["requirements"]
assert not any("cuda" in name for name in cpu["requirements"]["build"]), cpu["requirements"]
assert any("cuda" in name for name in gpu["requirements"]["build"]), gpu["requirements"]
PROGRAM
