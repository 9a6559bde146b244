#!/bin/sh
# Formats all C++ and CUDA sources with clang-format 19; `format.sh check` only reports. Other versions differ in
# details, so only 19 will do: apt-get install clang-format-19.
set -u
cd "$(dirname "$0")/.." || exit 2
formatter=$(command -v clang-format-19) || { echo "format: clang-format-19 is not installed" >&2; exit 77; }
files=$(git ls-files '*.h' '*.cc' '*.cu' '*.cuh' | grep -v '^tests/.*/kernels/' | while read -r f; do
  [ -f "$f" ] && echo "$f"; done)
if [ "${1:-}" = check ]; then
  # shellcheck disable=SC2086
  "$formatter" --dry-run -Werror $files
else
  # shellcheck disable=SC2086
  "$formatter" -i $files
fi
