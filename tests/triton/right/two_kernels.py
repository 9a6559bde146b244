# problem: problems/reduction.problem
# verdict: correct
#   What host code of Triton does: workspace, views, a kernel tuned among configurations, one with heuristics, defaults of its own,
#   a function for both, keyword arguments, a list for the grid.
import kernelwright
import triton
import triton.language as tl

SEGMENT = tl.constexpr(4096)


@triton.jit
def add(first, second):
    return first + second


@triton.autotune(configs=[triton.Config({"BLOCK": 256}, num_warps=2), triton.Config({"BLOCK": 1024}, num_warps=4)], key=["n"], reset_to_zero=["parts"])
@triton.jit
def sum_segments(x, parts, n, segments, x_row, BLOCK: tl.constexpr):
    row, segment = tl.program_id(1), tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(segment * SEGMENT, min(n, (segment + 1) * SEGMENT), BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x + row.to(tl.int64) * x_row + at, mask=at < n, other=0.0)
    tl.store(parts + row * segments + segment, tl.reduce(total, 0, add))


@triton.heuristics({"BLOCK": lambda values: triton.next_power_of_2(values["segments"])})
@triton.jit
def sum_parts(parts, y, segments, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    part = tl.load(parts + tl.program_id(0) * segments + at, mask=at < segments, other=0.0)
    tl.store(y + tl.program_id(0), tl.sum(part) * scale)


@kernelwright.entry
def reduction(x, y, M, N, scale=1.0):
    assert x.shape == (M, N) and x.dtype == tl.float32 and x.is_contiguous() and x.stride() == (N, 1)
    segments = triton.cdiv(N, SEGMENT.value)
    parts = kernelwright.zeros((M + 1, segments), x.dtype)
    for begin in range(0, M, 65535):
        rows = min(M - begin, 65535)
        sum_segments[lambda meta: [segments, rows]](x=x[begin:], parts=parts[1 + begin:], n=N, segments=segments, x_row=x.stride(0))
        sum_parts[(rows,)](parts[1:].view(-1)[begin * segments:], y[begin:], segments, scale)
