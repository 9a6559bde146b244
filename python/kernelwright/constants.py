"""Tensors that a module makes without chance and keeps: masks, positions, numbers. A reference computes them."""

import torch

from .sizes import number_text, shape_text, text


class Full:
    """One number everywhere."""

    def __init__(self, value):
        self.value = value

    def make(self, shape, dtype):
        return torch.full(shape, self.value, dtype=dtype)

    def expression(self, shape, dtype):
        number = literal(self.value, dtype)
        return f"broadcast({number}, {shape_text(shape)})" if shape else f"({number})"


class Triangle:
    """`below` where column − row <= diagonal, else `above`; the same for all leading axes."""

    def __init__(self, below, above, diagonal):
        self.below, self.above, self.diagonal = below, above, diagonal

    def make(self, shape, dtype):
        rows, columns = torch.arange(shape[-2])[:, None], torch.arange(shape[-1])
        below, above = (torch.tensor(value, dtype=dtype) for value in (self.below, self.above))
        return torch.where(columns - rows <= self.diagonal, below, above).expand(shape).contiguous()

    def expression(self, shape, dtype):
        rows, columns = shape[-2:]
        shift = "" if self.diagonal == 0 else f" {'-' if self.diagonal < 0 else '+'} {abs(self.diagonal)}"
        said = f"arange({text(columns)}) <= arange({text(rows)})[:, None]{shift}"
        if dtype == "bool":
            said = said if self.below else said.replace("<=", ">")
        else:
            said = f"where({said}, {literal(self.below, dtype)}, {literal(self.above, dtype)})"
        return said if len(shape) == 2 else f"broadcast({said}, {shape_text(shape)})"


class Steps:
    """start + step·i along one axis."""

    def __init__(self, start, step, axis, rank):
        self.start, self.step, self.axis, self.rank = start, step, axis, rank

    def make(self, shape, dtype):
        line = self.start + self.step * torch.arange(shape[self.axis], dtype=torch.float64)
        return line.to(dtype).reshape([-1 if i == self.axis else 1 for i in range(self.rank)]).expand(shape).contiguous()

    def expression(self, shape, dtype):
        said = f"arange({text(shape[self.axis])})"
        if self.rank > 1:
            said += "[" + ", ".join(":" if i == self.axis else "None" for i in range(self.rank)) + "]"
        if self.step != 1:
            said += f" * {literal(self.step, dtype, True)}"
        if self.start != 0:
            said += f" + {literal(self.start, dtype, True)}"
        if dtype[0] in "fb" and "." not in said:
            said = f"cast({said}, {dtype})"
        alone = all(size == 1 for i, size in enumerate(shape) if i != self.axis)
        return said if alone else f"broadcast({said}, {shape_text(shape)})"


def literal(value, dtype, operand=False):
    if dtype == "bool":
        return "(0 == 0)" if value else "(0 == 1)"
    said = number_text(float(value) if dtype[0] in "fb" else int(value))
    return f"({said})" if operand and said.startswith("-") else said


def recognised(tensor):
    """How a tensor is made, or None. What is found makes its elements to the bit."""
    if tensor.numel() == 0 or tensor.is_complex():
        return None
    values = tensor.detach()
    first = values.flatten()[0]
    found = Full(float(first)) if bool((values == first).all()) else triangle(values) or steps(values)
    return found if found and torch.equal(found.make(list(values.shape), values.dtype), values) else None


def triangle(values):
    if values.dim() < 2 or min(values.shape[-2:]) < 2:
        return None
    plane = values.reshape(-1, *values.shape[-2:])[0]
    below, above = plane[-1, 0], plane[0, -1]
    if bool(below == above):
        return None
    in_row, in_column = int((plane[0] == below).sum()), int((plane[:, 0] == below).sum())
    return Triangle(float(below), float(above), in_row - 1 if in_row else in_column - plane.shape[0])


def steps(values):
    for axis in [axis for axis, size in enumerate(values.shape) if size > 1 and values.dtype != torch.bool]:
        line = values.movedim(axis, -1).reshape(-1, values.shape[axis])[0].double()
        step = float(line[1] - line[0])
        if step != 0:
            return Steps(float(line[0]), step, axis, values.dim())
    return None
