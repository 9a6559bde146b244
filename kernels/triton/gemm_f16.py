# Matrix product in fp16 with fp32 accumulation: a program a tile of c, tiles in groups of rows so that neighbours share what is in the L2 cache.
import kernelwright
import triton
import triton.language as tl


@triton.jit
def gemm(a, b, c, M, N, K, a_row, b_row, c_row, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    program = tl.program_id(0)
    group = program // (GROUP * tiles_n)
    rows = min(tiles_m - group * GROUP, GROUP)
    tile_m = group * GROUP + program % (GROUP * tiles_n) % rows
    tile_n = program % (GROUP * tiles_n) // rows
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for begin in range(0, K, BLOCK_K):
        left = tl.load(a + m[:, None].to(tl.int64) * a_row + (begin + k)[None, :], mask=(m < M)[:, None] & (begin + k < K)[None, :], other=0.0)
        right = tl.load(b + (begin + k)[:, None].to(tl.int64) * b_row + n[None, :], mask=(begin + k < K)[:, None] & (n < N)[None, :], other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None].to(tl.int64) * c_row + n[None, :], total.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])


@kernelwright.entry
def gemm_f16(a, b, c, M, N, K):
    meta = dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=32, num_warps=8, num_stages=3) if M > 64 and N > 64 else dict(
        BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, num_warps=4, num_stages=3)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    gemm[grid](a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), GROUP=8, **meta)
