"""The module's own answer, for comparison: run in fp64 at small sizes, written as .npy files for kw to compare with."""

import ast
import os

import torch
from torch.func import functional_call

from .drawn import Given

MOST_COST = 2500  # of Space.cost: about 5e10 multiply-adds, which is what kw evaluates (import_file.cc)
NUMPY = {torch.float64: "<f8", torch.float32: "<f4", torch.float16: "<f2", torch.int8: "|i1", torch.int16: "<i2", torch.int32: "<i4",
         torch.int64: "<i8", torch.uint8: "|u1", torch.bool: "|b1"}


def write_npy(path, tensor):
    """NumPy's format, version 1.0: magic, length, a dictionary, the elements in C order."""
    tensor = tensor.detach().contiguous().reshape(tensor.shape)
    shape = "(" + "".join(f"{size}, " for size in tensor.shape) + ")"
    header = f"{{'descr': '{NUMPY[tensor.dtype]}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.write(bytes(tensor.reshape(-1).view(torch.uint8).tolist()) if tensor.numel() < 4096 else buffer_of(tensor))


def buffer_of(tensor):
    import ctypes
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def read_npy(path):
    with open(path, "rb") as file:
        magic = file.read(8)
        length = int.from_bytes(file.read(2 if magic[6] == 1 else 4), "little")
        header = ast.literal_eval(file.read(length).decode().strip())
        data = bytearray(file.read())
    dtype = {text: dtype for dtype, text in NUMPY.items()}[header["descr"]]
    return torch.frombuffer(data, dtype=dtype).reshape(header["shape"]) if data else torch.empty(header["shape"], dtype=dtype)


def drawn_values(drawn, shape, dtype, generator, high=None):
    if drawn.form == "constant":
        values = torch.full(shape, drawn.a, dtype=torch.float64)
    elif drawn.form == "normal":
        values = drawn.a + drawn.b * torch.randn(shape, generator=generator, dtype=torch.float64)
    elif drawn.form == "integers":
        values = torch.randint(int(drawn.a), int(drawn.b if high is None else high) + 1, shape, generator=generator).double()
    else:
        values = drawn.a + (drawn.b - drawn.a) * torch.rand(shape, generator=generator, dtype=torch.float64)
    return values.to(dtype)


def workload_for(imported):
    """The one whose axes differ most and that is small enough; None: all are too large."""
    order = {"odd": 0, "odd_too": 1, "least": 2, "fixed": 2, "scaled": 3, "task": 4}
    for role, name, axes in sorted(imported.workloads, key=lambda each: order[each[1]]):
        if imported.space.cost(axes) <= MOST_COST:
            return name, axes
    return None


def write_answer(imported, folder, axes, seed=1):
    from . import sizes
    subject, generator = imported.subject, torch.Generator().manual_seed(seed)
    given = {"parameter": {}, "input": {}, "constant": {}, "random": {}}
    for each in imported.inputs:
        shape = [sizes.evaluate(size, axes) for size in each.shape]
        dtype = next(node.meta["val"].dtype for node, kind, where in imported.trace.placeholders if (kind, where) == (each.kind, each.where))
        written = imported.distribution(each)
        high = next((axes[axis] - 1 for axis in axes if written.endswith(f", {axis} - 1)")), None)
        trained = each.kind == "parameter" and each.drawn.form == "constant" and dtype.is_floating_point and not each.drawn.masked
        drawn = each.drawn.like("uniform", each.drawn.a - 0.5, each.drawn.a + 0.5) if trained else each.drawn
        values = drawn_values(drawn, shape, dtype, generator, high)
        os.makedirs(f"{folder}/inputs", exist_ok=True)
        write_npy(f"{folder}/inputs/{each.name}.npy", values)
        if each.drawn.masked:
            values = getattr(torch, each.drawn.masked)(values)
        given[each.kind][each.where] = values.double() if dtype.is_floating_point else values
    if given["constant"]:
        return False   # tensors made inside forward: they are inputs of the problem and none of the module
    parameters, random = {}, []
    for (node, kind, where) in imported.trace.placeholders:
        if kind in ("parameter", "random"):   # those that no output needs, too
            shape = [sizes.evaluate(imported.emitter.size(size), {**imported.sizes, **axes}) for size in node.meta["val"].shape]
            dtype = node.meta["val"].dtype
            made = subject.made.get(where) if kind == "parameter" else None
            value = made.make(shape, dtype) if made else given[kind].get(where, torch.ones(shape, dtype=dtype))
            value = value.double() if dtype.is_floating_point else value
            if kind == "parameter":
                parameters[where] = value
            else:
                random.append(value)
    for where in parameters:   # training replaces them unread, but looks at their size
        layer, _, name = where.rpartition(".")
        if name in ("running_mean", "running_var") and where not in given["parameter"] and f"{layer}.weight" in parameters:
            parameters[where] = torch.ones_like(parameters[f"{layer}.weight"])
    arguments = [given["input"].get(i, each) for i, each in enumerate(subject.inputs)]
    for each in subject.module.modules():   # tensors that are neither parameters nor buffers
        for name, value in list(vars(each).items()):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                setattr(each, name, value.double())
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)   # for the tensors that forward makes itself
    try:
        with torch.no_grad(), Given(random):
            answer = functional_call(subject.module, parameters, tuple(arguments))
    finally:
        torch.set_default_dtype(before)
    flat = [each for each in torch.utils._pytree.tree_leaves(answer) if isinstance(each, torch.Tensor)]
    os.makedirs(f"{folder}/outputs", exist_ok=True)
    for (name, _), value in zip(imported.outputs, flat):
        write_npy(f"{folder}/outputs/{name}.npy", value)
    return True
