"""A call of a candidate's entry, written down: tensors without contents, and the steps that it issues. Runs in kw's jail;
src/toolchain/described.cc reads what is left in the folder and believes none of it:

recording.json   {"parameters": [NAME, …],           the problem's tensors that the entry takes, in its order
                  "workspace": [BYTES, …],           buffers are counted through: parameters, then these
                  "kernels": [TEXT, …],              what is to be compiled, in the compiler's own words
                  "steps": [{"line": 7, "launch": {"kernel": 0, "grid": [4, 1, 1], "arguments": [{"buffer": 0, "offset": BYTES} or {"bytes": HEX}, …]}},
                            {"line": 6, "fill": {"buffer", "offset", "bytes"}}]}     with zeros
failure.json     or why there is none: {"kind", "message", "notes", "line", "column"}
"""

import inspect
import json
import math
import os
import sys

BUFFER_SPACING = 1 << 44   # between the addresses that tensors claim; they are multiples of 256, as a plan's buffers are
MOST_STEPS = 100_000


class Refused(Exception):
    """Why a call cannot be recorded; `kind` as src/toolchain/described.cc reads it."""

    def __init__(self, kind, message, *notes):
        super().__init__(message)
        self.kind, self.notes = kind, notes


def product(sizes):
    return math.prod(sizes)


def contiguous(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)


class Tensor:
    """A tensor's place and form. What it holds does not exist while recording."""

    def __init__(self, recorder, buffer, dtype, bits, shape, strides=None, offset=0):
        self._recorder, self._buffer, self._bits, self._offset = recorder, buffer, bits, offset   # offset in elements
        self.dtype, self.shape = dtype, tuple(shape)
        self._strides = contiguous(self.shape) if strides is None else tuple(strides)

    device = "cuda"
    is_cuda = True
    ndim = property(lambda self: len(self.shape))
    byte_offset = property(lambda self: self._offset * self._bits // 8)

    def dim(self):
        return len(self.shape)

    def size(self, dimension=None):
        return self.shape if dimension is None else self.shape[dimension]

    def stride(self, dimension=None):
        return self._strides if dimension is None else self._strides[dimension]

    def numel(self):
        return product(self.shape)

    def element_size(self):
        return max(1, self._bits // 8)

    def is_contiguous(self):
        return all(size == 1 or stride == whole for size, stride, whole in zip(self.shape, self._strides, contiguous(self.shape)))

    def contiguous(self):
        if not self.is_contiguous():
            raise Refused("call", "contiguous() would copy a tensor; give the kernel its strides")
        return self

    def data_ptr(self):
        return self._recorder.base + self._buffer * BUFFER_SPACING + self.byte_offset

    def _viewed(self, shape, strides, offset=0):
        if self._bits < 8:
            raise Refused("call", "a tensor of elements of four bits has no views")
        return Tensor(self._recorder, self._buffer, self.dtype, self._bits, shape, strides, self._offset + offset)

    def view(self, *shape):
        shape = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)
        if not self.is_contiguous():
            raise Refused("call", "a view of another shape needs a contiguous tensor")
        if shape.count(-1) == 1:
            rest = product(size for size in shape if size != -1)
            shape[shape.index(-1)] = self.numel() // rest if rest else 0
        if any(size < 0 for size in shape) or product(shape) != self.numel():
            raise Refused("call", f"{list(self.shape)} has no view of shape {shape}")
        return self._viewed(shape, None)

    reshape = view

    def flatten(self):
        return self.view(-1)

    def transpose(self, first, second):
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.permute(*order)

    def permute(self, *order):
        order = order[0] if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
        if sorted(each % self.ndim for each in order) != list(range(self.ndim)):
            raise Refused("call", f"{list(order)} is no order of {self.ndim} dimensions")
        return self._viewed([self.shape[each] for each in order], [self._strides[each] for each in order])

    def t(self):
        return self.transpose(0, 1)

    T = property(lambda self: self.permute(*reversed(range(self.ndim))))

    def __getitem__(self, index):
        shape, strides, offset = [], [], 0
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > self.ndim:
            raise IndexError(f"{len(index)} indices for {self.ndim} dimensions")
        for dimension, size in enumerate(self.shape):
            each = index[dimension] if dimension < len(index) else slice(None)
            stride = self._strides[dimension]
            if isinstance(each, slice):
                start, stop, step = each.indices(size)
                if step < 1:
                    raise Refused("call", "a slice goes forwards")
                shape.append(max(0, -(-(stop - start) // step)))
                strides.append(stride * step)
                offset += start * stride
            elif isinstance(each, int) and -size <= each < size:
                offset += each % size * stride
            else:
                raise IndexError(f"{each!r} is no index of a dimension of {size}")
        return self._viewed(shape, strides, offset)

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def zero_(self):
        if not self.is_contiguous():
            raise Refused("call", "zero_() of a tensor that is not contiguous; zero it in a kernel")
        self._recorder.fill(self._buffer, self.byte_offset, -(-self.numel() * self._bits // 8))
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused("call", f".{name} of a tensor is not there while recording: tensors have no contents",
                      "They have shape, dtype, stride(), views and zero_(); let a kernel do the rest.")

    def __bool__(self):
        raise Refused("call", "the entry asks whether a tensor is true; tensors have no contents while recording")


class Recorder:
    """One call. `types`: how the language calls the problem's element types, each with its width in bits."""

    def __init__(self, request, types):
        self.request, self.types = request, types
        # Multiples of 256 that differ between the two recordings: what depends on an address shows.
        self.base = (0x10_0000_0000 + (request["seed"] << 30)) * 256
        self.parameters, self.workspace, self.steps = [], [], []
        self.kernels = {}   # the number of a kernel by what is to be compiled

    def bind(self, function):
        """What the entry is called with."""
        named = {argument["name"]: argument for argument in self.request["arguments"]}
        values = {}
        for parameter in inspect.signature(function).parameters.values():
            argument = named.pop(parameter.name, None)
            if argument is not None:
                value = self._value(argument)
                values[parameter.name] = parameter.annotation(value) if parameter.annotation in (int, float) and not isinstance(value, Tensor) else value
            elif parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or parameter.default is parameter.empty:
                listing = ", ".join(f"{each['kind']} {each['name']}" for each in self.request["arguments"])
                raise Refused("contract", f"parameter '{parameter.name}' names nothing in the problem", f"The problem has: {listing}.")
        for argument in named.values():
            if argument["kind"] == "output":
                raise Refused("contract", f"the output '{argument['name']}' is not a parameter", f"Add {argument['name']} to the entry's parameters.")
        return values

    def _value(self, argument):
        if "dtype" not in argument:
            return {"integer": lambda: argument["integer"], "real": lambda: argument["real"], "bool": lambda: bool(argument["integer"])}[argument["kind"]]()
        if argument["dtype"] not in self.types:
            raise Refused("contract", f"'{argument['name']}': this language has no element type {argument['dtype']}")
        dtype, bits = self.types[argument["dtype"]]
        self.parameters.append(argument["name"])
        return Tensor(self, len(self.parameters) - 1, dtype, bits, argument["shape"], argument["strides"])

    def empty(self, shape, dtype):
        bits = next((width for known, width in self.types.values() if known == dtype), None)
        if bits is None:
            raise Refused("call", f"{dtype} is no element type for workspace")
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise Refused("call", f"{shape} is no shape")
        self.workspace.append(-(-product(shape) * bits // 8))
        return Tensor(self, len(self.parameters) + len(self.workspace) - 1, dtype, bits, shape)

    def zeros(self, shape, dtype):
        return self.empty(shape, dtype).zero_()

    def launch(self, kernel, grid, arguments):
        if not all(isinstance(size, int) and size >= 0 for size in grid):
            raise Refused("launch", f"{grid} is no grid")
        if 0 not in grid:
            self.add("launch", {"kernel": self.kernels.setdefault(kernel, len(self.kernels)), "grid": grid, "arguments": arguments})

    def fill(self, buffer, offset, size):
        if size > 0:
            self.add("fill", {"buffer": buffer, "offset": offset, "bytes": size})

    def add(self, kind, step):
        if len(self.steps) >= MOST_STEPS:
            raise Refused("limit", f"the entry issues more than {MOST_STEPS} steps")
        self.steps.append({"line": self.line_now(), kind: step})

    def line_now(self):
        """The innermost line of the candidate that is being executed."""
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.request["path"]:
            frame = frame.f_back
        return frame.f_lineno if frame is not None else 0

    def write(self, folder):
        with open(os.path.join(folder, "recording.json"), "w", encoding="utf-8") as file:
            json.dump({"parameters": self.parameters, "workspace": self.workspace, "kernels": list(self.kernels), "steps": self.steps}, file)
