# Softmax over the last axis: a program a row, which it walks over once for the running maximum and sum (Milakov and Gimelshein,
# "Online normalizer calculation for softmax", 2018), and once more to write; rows of up to 8192 elements stay in registers.
import kernelwright
import triton
import triton.language as tl


@triton.jit
def softmax_kept(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    at = tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + row + at, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row + at, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def softmax_twice(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    at = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, n, BLOCK):
        value = tl.load(x + row + begin + at, mask=begin + at < n, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(largest, value, propagate_nan=tl.PropagateNan.ALL)
        # A lane that has seen nothing yet would subtract infinities.
        total = tl.where(larger == -float("inf"), 0.0, total * tl.exp(largest - larger) + tl.exp(value - larger))
        largest = larger
    top = tl.max(largest, axis=0)
    whole = tl.sum(tl.where(largest == -float("inf"), 0.0, total * tl.exp(largest - top)), axis=0)
    for begin in range(0, n, BLOCK):
        inside = begin + at < n
        value = tl.load(x + row + begin + at, mask=inside).to(tl.float32)
        tl.store(y + row + begin + at, tl.exp(value - top) / whole, mask=inside)


@kernelwright.entry
def row_softmax(x, y, M, N):
    if N <= 8192:
        block = triton.next_power_of_2(N)
        softmax_kept[(M,)](x, y, N, BLOCK=block, num_warps=8 if block >= 2048 else 4)
    else:
        softmax_twice[(M,)](x, y, N, BLOCK=4096, num_warps=8)
