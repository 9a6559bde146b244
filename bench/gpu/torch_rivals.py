"""PyTorch eager at the same shapes as run.sh, timed the same way: CUDA events, tensors rotated beyond L2."""

import torch
import torch.nn.functional as F


def time_call(name, call, make, flops=0):
    sample = make()
    nbytes = sum(t.numel() * t.element_size() for t in sample)
    copies = max(2, min(64, (1 << 30) // max(1, nbytes)))
    inputs = [sample] + [make() for _ in range(copies - 1)]
    marks = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(110)]
    for i, (begin, end) in enumerate(marks):
        begin.record()
        call(*inputs[i % copies])
        end.record()
    torch.cuda.synchronize()
    times = [begin.elapsed_time(end) for begin, end in marks[10:]]
    times.sort()
    rate = f", {flops / times[50] * 1e-9:.1f} TFLOP/s" if flops else ""
    print(f"torch {name:<14} median {times[50]:.4f} ms ({times[0]:.4f} to {times[-1]:.4f}){rate}")


def normal(dtype, *shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


f16, bf16, f32 = torch.float16, torch.bfloat16, torch.float32
time_call("vector_add", torch.add, lambda: [normal(f32, 16777216), normal(f32, 16777216)])
time_call("softmax_4096", lambda x: F.softmax(x, -1), lambda: [normal(f16, 4096, 4096)])
time_call("softmax_50257", lambda x: F.softmax(x, -1), lambda: [normal(f16, 1024, 50257)])
time_call("rms_norm", lambda x, w: F.rms_norm(x, (8192,), w, 1e-5), lambda: [normal(bf16, 4096, 8192), normal(bf16, 8192)])
time_call("transpose", lambda x: x.t().contiguous(), lambda: [normal(f32, 8192, 8192)])
time_call("reduce_rows", lambda x: x.sum(-1), lambda: [normal(f32, 4096, 4096)])
time_call("reduce_all", lambda x: x.sum(-1), lambda: [normal(f32, 1, 16777216)])
time_call("gemm_4096", torch.matmul, lambda: [normal(f16, 4096, 4096), normal(f16, 4096, 4096)], 2 * 4096**3)
time_call("gemv", torch.mv, lambda: [normal(f16, 12288, 4096), normal(f16, 4096)])
time_call("attention_gpt2", F.scaled_dot_product_attention, lambda: [normal(f16, 4, 12, 1024, 64) for _ in range(3)],
          4 * 4 * 12 * 1024 * 1024 * 64)
