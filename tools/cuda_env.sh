#!/bin/sh
# Says where the CUDA toolkit is: CUDA_HOME, else the toolkit of the nvcc on PATH, else .venv (see setup.sh), else the
# customary /usr/local/cuda. Usage: cuda_env.sh [root|include|nvcc|cuobjdump|nvdisasm]   (no argument: all of them)
# Prints a path; exit code 1 and a remedy on standard error when it is not there.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)

toolkit_of_nvcc() {  # asks the compiler itself: what is on PATH may be a link or a script
  top=$("$1" -dryrun -x cu -E /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p' | head -n 1)
  # Without a host compiler named gcc it does not say; then the folder that it lies in is a guess worth making.
  [ -n "$top" ] || top=$(dirname "$(readlink -f "$1")")/..
  (CDPATH= cd -- "$top" 2>/dev/null && pwd -P)
}

venv_toolkit() {
  for folder in "$here"/.venv/lib/python3*/site-packages/nvidia/cu13; do
    [ -d "$folder/bin" ] && echo "$folder" && return
  done
}

root=
if [ -n "${CUDA_HOME:-}" ] && [ -x "$CUDA_HOME/bin/nvcc" ]; then
  root=$CUDA_HOME
elif command -v nvcc >/dev/null 2>&1; then
  root=$(toolkit_of_nvcc "$(command -v nvcc)")
fi
venv=$(venv_toolkit)
if [ -z "$root" ] && [ -n "$venv" ] && [ -x "$venv/bin/nvcc" ]; then root=$venv; fi
if [ -z "$root" ] && [ -x /usr/local/cuda/bin/nvcc ]; then root=/usr/local/cuda; fi

tool() {
  if [ -n "$root" ] && [ -x "$root/bin/$1" ]; then echo "$root/bin/$1"
  elif command -v "$1" 2>/dev/null; then :
  elif [ -n "$venv" ] && [ -x "$venv/bin/$1" ]; then echo "$venv/bin/$1"
  fi
}

include() {
  for folder in "$root/include" "$root"/targets/*/include; do
    [ -n "$root" ] && [ -f "$folder/cuda_runtime_api.h" ] && echo "$folder" && return
  done
}

answer() {
  case $1 in
    root) echo "$root" ;;
    include) include ;;
    nvcc | cuobjdump | nvdisasm) tool "$1" ;;
    *) echo "usage: cuda_env.sh [root|include|nvcc|cuobjdump|nvdisasm]" >&2; exit 2 ;;
  esac
}

if [ $# -eq 0 ]; then
  for what in root include nvcc cuobjdump nvdisasm; do
    found=$(answer "$what")
    echo "$what: ${found:-missing}"
  done
  exit 0
fi
found=$(answer "$1")
[ $? -ne 2 ] || exit 2
if [ -z "$found" ]; then
  echo "CUDA $1 not found: run tools/setup.sh, or put nvcc on PATH, or set CUDA_HOME to a CUDA 12.4 or later toolkit" >&2
  exit 1
fi
echo "$found"
