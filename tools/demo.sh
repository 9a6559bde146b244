#!/usr/bin/env bash
# The tour: judges the attention kernel in kernels/, and the same kernel with one barrier removed; then makes a kernel faster. No GPU is used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kw=build/release/kw
problem=problems/attention_forward.problem
kernel=kernels/attention_forward.cu
variant=build/demo/attention_forward.cu

say() { printf '\n== %s\n\n' "$*"; }
mkdir -p build/demo

say "1. An attention kernel for sm_80: fp16 tensor cores, asynchronous copies, double-buffered keys and values"
echo "\$ kw judge $problem $kernel"
"$kw" judge "$problem" "$kernel"

say "2. The same kernel without the barrier before it uses the values that other warps copied"
# The second of its two barriers: the one after the wait for the values.
awk '/cp_async_wait<1>\(\);  \/\/ the values/ { print; getline; if ($0 !~ /__syncthreads/) exit 1; next } { print }' \
  "$kernel" > "$variant"
diff "$kernel" "$variant" || test $? -eq 1
echo
echo "\$ kw judge $problem $variant"
code=0
"$kw" judge "$problem" "$variant" || code=$?
if [ "$code" -ne 1 ]; then
  echo "demo: the broken kernel was not caught (exit code $code)" >&2
  exit 1
fi

say "3. A kernel written for SiLU, and a search for a faster one; times are estimates"
echo "\$ kw optimize problems/silu.problem --evaluations 5"
"$kw" optimize problems/silu.problem --evaluations 5 --seed 3 --store build/demo/runs --out build/demo/silu.cu --report build/demo/silu.md
head -n 1 build/demo/silu.md

say "Done: the first is correct on every workload and schedule; the second races, though its numbers were right; build/demo/silu.md tells of the third."
echo "Next: kw judge PROBLEM YOUR_KERNEL.cu    kw emu run ./app    kw --help"
