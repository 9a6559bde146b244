# The sum of two vectors: each program takes 1024 elements.
import kernelwright
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


@kernelwright.entry
def vector_add(a, b, y, N):
    add[(triton.cdiv(N, 1024),)](a, b, y, N, BLOCK=1024)
