# problem: problems/layer_norm_residual.problem
# verdict: correct
#   Arguments of each kind: numbers that are 1, large, negative, of a half, none, element types, tuples, another function. The kernel asserts them.
import kernelwright
import triton
import triton.language as tl


@triton.jit
def scaled(value, by):
    return value * by


@triton.jit
def norm(tensors, x, r, h, y, n, one, large, negative, half, nothing, yes, eps, KIND: tl.constexpr, RATIO: tl.constexpr, WITH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < n
    row = tl.program_id(0).to(tl.int64) * n
    kept = tl.load(x + row + at, mask=inside, other=0.0).to(KIND) + tl.load(r + row + at, mask=inside, other=0.0).to(KIND)
    if nothing is None:
        tl.store(h + row + at, kept, mask=inside)
    # Each is 1 when the argument is what the entry gave.
    one = one * (large - 4294967296) * (negative + 8) * yes
    centred = tl.where(inside, kept - tl.sum(kept) / n, 0.0)
    scale = tl.rsqrt(WITH(tl.sum(centred * centred) / n, RATIO * 2.0) * half * 2.0 + eps)
    normal = centred * scale * one.to(tl.float32)
    tl.store(y + row + at, normal * tl.load(tensors[0] + at, mask=inside).to(KIND) + tl.load(tensors[1] + at, mask=inside).to(KIND), mask=inside)


@kernelwright.entry
def layer_norm(x, r, w, b, h, y, M, N, eps: float):
    norm[(M, 1)]((w, b), x, r, h, y, N, 1, 2**32 + 1, -7, 0.5, None, True, eps, KIND=tl.float32, RATIO=0.5, WITH=scaled, BLOCK=triton.next_power_of_2(N))
