# problem: problems/reduction.problem
# verdict: nondeterministic
# rung: schedules
import kernelwright
import triton
import triton.language as tl


@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(1).to(tl.int64) * n + at, mask=at < n, other=0.0)
    tl.atomic_add(y + tl.program_id(1), tl.sum(value))


@kernelwright.entry
def reduction(x, y, M, N):
    y.zero_()
    add[(triton.cdiv(N, 128), M)](x, y, N, BLOCK=128)
