#!/usr/bin/env bash
# Times the eight kernels of kernels/ on this machine's GPU at the problems' real workloads, beside PyTorch where it
# is installed. Usage: bench/gpu/run.sh   (needs nvcc and a GPU of sm_80 or later)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${TMPDIR:-/tmp}/kw_gpu_bench
mkdir -p "$out"
arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader
build() { nvcc -O3 -std=c++17 -arch="$arch" -I include -o "$out/$1" bench/gpu/time_candidate.cu "kernels/$1.cu"; }
for kernel in vector_add row_softmax rms_norm transpose reduction gemm_f16 gemv attention_forward; do build "$kernel" & done
wait
time_one() { printf '%-18s ' "$1"; shift; "$out/$1" "${@:2}"; }
time_one vector_add vector_add a=f32:16777216 b=f32:16777216 y=f32:16777216
time_one softmax_4096 row_softmax x=f16:4096x4096 y=f16:4096x4096
time_one softmax_50257 row_softmax x=f16:1024x50257 y=f16:1024x50257
time_one rms_norm rms_norm x=bf16:4096x8192 w=bf16:8192 y=bf16:4096x8192 eps=1e-5
time_one transpose transpose x=f32:8192x8192 y=f32:8192x8192
time_one reduce_rows reduction x=f32:4096x4096 y=f32:4096
time_one reduce_all reduction x=f32:1x16777216 y=f32:1
time_one gemm_4096 gemm_f16 flops=137438953472 a=f16:4096x4096 b=f16:4096x4096 c=f16:4096x4096
time_one gemv gemv a=f16:12288x4096 x=f16:4096 y=f16:12288
time_one attention_gpt2 attention_forward flops=12884901888 q=f16:4x12x1024x64 k=f16:4x12x1024x64 v=f16:4x12x1024x64 o=f16:4x12x1024x64
if python3 -c 'import torch' 2>/dev/null; then python3 bench/gpu/torch_rivals.py; fi
