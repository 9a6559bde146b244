"""LSTM, GRU and plain recurrent layers as one operator each.

torch.export would walk through every step of the sequence and fix its length. Under `Whole` each layer is a call of an
operator of ours that knows only shapes; the reference calls PyTorch's own (emit.py).
"""

import torch
from torch.overrides import TorchFunctionMode

_REST = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"
_SCHEMAS = {"lstm": f"(Tensor input, Tensor[] hx, {_REST}) -> (Tensor, Tensor, Tensor)"}
for _name in ("gru", "rnn_tanh", "rnn_relu"):
    _SCHEMAS[_name] = f"(Tensor input, Tensor hx, {_REST}) -> (Tensor, Tensor)"


def _shapes_of(gates):
    def shapes(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        state = list(hx) if isinstance(hx, (list, tuple)) else [hx]
        hidden, told = state[-1].shape[-1], state[0].shape[-1]   # of an LSTM with projections h is shorter than c
        width = told * (2 if bidirectional else 1)
        matrices = [each for each in params if each.dim() == 2]
        per_run = len(matrices) // (num_layers * (2 if bidirectional else 1))
        for i, matrix in enumerate(matrices):
            first = i < per_run * (2 if bidirectional else 1)
            columns = [input.shape[-1] if first else width, told, hidden][i % per_run]
            torch._check(matrix.shape[1] == columns)
            torch._check(matrix.shape[0] == (told if i % per_run == 2 else gates * hidden))
        for each in params:
            torch._check(each.dim() == 2 or each.shape[0] == gates * hidden)
        for each in state:
            torch._check(each.shape[0] == num_layers * (2 if bidirectional else 1))
            torch._check(each.dim() == 2 or each.shape[1] == input.shape[0 if batch_first else 1])
        return (input.new_empty([*input.shape[:-1], width]), *(each.new_empty(each.shape) for each in state))
    return shapes


_library = torch.library.Library("kernelwright", "DEF")
for _name, _schema in _SCHEMAS.items():
    _library.define(_name + _schema)
    torch.library.register_fake(f"kernelwright::{_name}", _shapes_of({"lstm": 4, "gru": 3}.get(_name, 1)), lib=_library)


class Whole(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        # A packed sequence has its batch sizes second, and so no flag fourth.
        if name in _SCHEMAS and function is getattr(torch._VF, name) and len(args) == 9 and isinstance(args[3], bool):
            return getattr(torch.ops.kernelwright, name)(*args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))


def multiply_adds(input, params):
    """(positions, shape): every weight matrix meets every position of the sequence."""
    return [(input.shape[:-1], weight.shape) for weight in params if weight.rank == 2]
