"""What a candidate in Python imports (docs/formats/candidate.md).

    import kernelwright
    @kernelwright.entry
    def add(x, y, z, N): add_kernel[(triton.cdiv(N, 1024),)](x, y, z, N, BLOCK=1024)

Parameters are bound by name to the problem's tensors, axes and attributes; one that names none of them keeps its default.
kw calls the entry in a jail, once per workload, with tensors that have no contents. Elsewhere the decorator changes nothing, and
empty() and zeros() are PyTorch's, so that the same file runs on tensors of a GPU.
"""

TORCH_NAMES = {"int1": "bool", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp16": "float16", "bf16": "bfloat16",
               "fp32": "float32", "fp64": "float64"}   # of Triton's; the others are called alike

entries = []
recorder = None   # of the call that is being recorded (recording.py)


def entry(function):
    """Marks the one function that launches the kernels."""
    entries.append(function)
    return function


def empty(shape, dtype):
    """Workspace: memory that lives as long as the call, holding anything. `dtype` is Triton's, or a tensor's."""
    return _workspace("empty", shape, dtype)


def zeros(shape, dtype):
    """Workspace that is zero when the next kernel begins."""
    return _workspace("zeros", shape, dtype)


def _workspace(name, shape, dtype):
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if recorder is not None:
        return getattr(recorder, name)(shape, dtype)
    import torch
    dtype = dtype if isinstance(dtype, torch.dtype) else getattr(torch, TORCH_NAMES.get(dtype.name, dtype.name))
    return getattr(torch, name)(shape, dtype=dtype, device="cuda")
