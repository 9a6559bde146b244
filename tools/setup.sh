#!/usr/bin/env bash
# Makes a fresh Debian 12 or Ubuntu 22.04/24.04 machine ready to build and test: system packages through apt (with
# sudo when not root) and, where they are missing, the CUDA compiler, the SASS disassemblers and a recent CMake in
# .venv. Does nothing, and needs no network, when all is there. Safe to repeat.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "setup: $*"; }

# --- system packages ---------------------------------------------------------------------------------------------
wanted=(cmake ninja-build make git python3 libfmt-dev libexpected-dev nlohmann-json3-dev libcli11-dev
        libsqlite3-dev libssl-dev libre2-dev libtomlplusplus-dev libxxhash-dev libgtest-dev librapidcheck-dev libbenchmark-dev)

gcc_major() { "$1" -dumpversion 2>/dev/null | cut -d. -f1; }
if [ "$(gcc_major g++ || true)" != "" ] && [ "$(gcc_major g++)" -ge 12 ]; then
  :
elif ! command -v g++-12 >/dev/null && ! command -v g++-13 >/dev/null; then
  if [ "$(. /etc/os-release && echo "${VERSION_ID:-}")" = 22.04 ]; then wanted+=(g++-12); else wanted+=(g++); fi
fi

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${wanted[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
else
  say "this is no Debian or Ubuntu; see that these are there: ${wanted[*]}"
fi

need_cuda= need_sass= need_cmake=
tools/cuda_env.sh nvcc >/dev/null 2>&1 && tools/cuda_env.sh include >/dev/null 2>&1 || need_cuda=1
tools/cuda_env.sh cuobjdump >/dev/null 2>&1 && tools/cuda_env.sh nvdisasm >/dev/null 2>&1 || need_sass=1
if [ -n "$need_cuda$need_sass" ] && ! python3 -c 'import ensurepip' 2>/dev/null; then missing+=(python3-venv); fi

if [ ${#missing[@]} -gt 0 ]; then
  say "installing ${missing[*]}"
  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { say "neither root nor sudo: ask for these packages: ${missing[*]}"; exit 1; }
    as_root=sudo
  fi
  $as_root apt-get update -q
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

# CMakePresets.json needs 3.25; Ubuntu 22.04 has 3.22.
cmake_version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
if [ "$(printf '3.25\n%s\n' "${cmake_version:-0}" | sort -V | head -n 1)" != 3.25 ]; then
  [ -x .venv/bin/cmake ] || need_cmake=1
fi

# --- what is missing of CUDA, in .venv ---------------------------------------------------------------------------
if [ -n "$need_cuda$need_sass$need_cmake" ]; then
  packages=()
  [ -z "$need_cuda" ] || packages+=(-r tools/requirements-cuda.txt)
  [ -z "$need_sass" ] || packages+=(-r tools/requirements-sass.txt)
  [ -z "$need_cmake" ] || packages+=(cmake==3.31.6)
  say "making .venv with ${packages[*]}"
  [ -x .venv/bin/pip ] || python3 -m venv .venv
  .venv/bin/pip install -q --disable-pip-version-check --no-deps "${packages[@]}"
  # nvcc's profile looks for libraries in lib64; the packages have lib.
  for folder in .venv/lib/python3*/site-packages/nvidia/cu13; do
    [ ! -d "$folder/lib" ] || [ -e "$folder/lib64" ] || ln -s lib "$folder/lib64"
  done
fi
tools/cuda_env.sh nvcc >/dev/null
say "ready"
