#!/bin/sh
# One table of the speed and memory targets (docs/perf/emulator.md): times, and callgrind instruction counts beside them
# where valgrind is installed. Usage: bench/run.sh [BUILD] [PROGRAM ARGS…]; BUILD is a configured release build folder
# (build/release), PROGRAM anything that `kw nvcc` built, timed under `kw emu run` as well.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-"$here/build/release"}
[ $# -gt 0 ] && shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --build "$build" --target kw kw_emu_alu_bench kw_emu_kernel_bench kw_ptx_bench >/dev/null

instructions() {   # of one run of a command
  command -v valgrind >/dev/null || { echo "   (no valgrind: no instruction counts)"; return; }
  valgrind --tool=callgrind --callgrind-out-file="$scratch/callgrind" "$@" 2>&1 >/dev/null |
    sed -n 's/.*Collected *: *\([0-9]*\).*/   callgrind: \1 instructions, loading included/p'
}

nvcc=$("$here/tools/cuda_env.sh" nvcc 2>/dev/null || command -v nvcc || true)
if [ -n "$nvcc" ]; then
  "$nvcc" -ptx -arch=sm_80 -O3 -std=c++17 -I"$here/include" -o "$scratch/attention.ptx" "$here/kernels/attention_forward.cu"
  "$build/bench/kw_emu_kernel_bench" attention "$scratch/attention.ptx"
  instructions "$build/bench/kw_emu_kernel_bench" attention "$scratch/attention.ptx" once
else
  echo "attention: nvcc is missing (make setup installs it)"
fi
"$build/bench/kw_emu_alu_bench"
"$build/bench/kw_emu_kernel_bench" cores
"$build/bench/kw_emu_kernel_bench" blocks
instructions "$build/bench/kw_emu_kernel_bench" blocks once
"$build/bench/kw_ptx_bench" --benchmark_filter=arse
if [ -n "$nvcc" ]; then
  for kernel in vector_add row_softmax; do
    "$build/kw" judge "$here/problems/$kernel.problem" "$here/kernels/$kernel.cu" >/dev/null 2>&1 || true
    echo "kw judge $kernel, compiled before:"
    ( time -p "$build/kw" judge "$here/problems/$kernel.problem" "$here/kernels/$kernel.cu" >/dev/null 2>&1 ) 2>&1 | tr '\n' ' '
    echo
  done
fi
if [ $# -gt 0 ]; then
  for check in none race all; do
    echo "kw emu run --threads=1 --check=$check $*"
    "$build/kw" emu run --threads=1 --check=$check "$@"
  done
fi
