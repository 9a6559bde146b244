#!/bin/sh
# clang-tidy 19 over the sources that differ from a commit (default: all of src). Needs a configured build folder.
# Usage: lint.sh [commit]
set -u
cd "$(dirname "$0")/.." || exit 2
tidy=$(command -v clang-tidy-19) || { echo "lint: clang-tidy-19 is not installed: apt-get install clang-tidy-19" >&2; exit 1; }
build=build/release
[ -f "$build/compile_commands.json" ] || { echo "lint: run make build first" >&2; exit 1; }
if [ $# -gt 0 ]; then files=$(git diff --name-only --diff-filter=d "$1" -- 'src/*.cc'); else files=$(git ls-files 'src/*.cc'); fi
[ -n "$files" ] || exit 0
# shellcheck disable=SC2086
exec "$tidy" --quiet -p "$build" $files
