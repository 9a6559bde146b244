"""How the tensors of a module and its inputs are drawn.

Under `Draws` random numbers are not made but recorded: rand, uniform_, normal_, randint, … give tensors of untouched memory,
and the distribution is remembered with the storage. So a task of many gigabytes is read in no time, and the bounds of an
initialisation are known exactly. Arithmetic with numbers moves the distribution along; tensors that no random number went
into are computed as always.
"""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map


class Drawn:
    """A distribution as problem files write it. `shape_of`: what the reference must do to the input before it is what
    PyTorch's input was: triu, tril, or nothing. `exact`: not merely like it."""

    def __init__(self, form, a=0.0, b=1.0, exact=True, masked=""):
        self.form, self.a, self.b, self.exact, self.masked = form, a, b, exact, masked

    def moved(self, scale, shift):
        a, b = self.a * scale + shift, self.b * scale + (0 if self.form == "normal" else shift)
        if self.form == "normal":
            b = abs(b)
        elif a > b:
            a, b = b, a
        whole = self.form != "integers" or (abs(scale) == 1 and float(shift).is_integer())
        form = self.form if whole else "uniform"
        if self.masked and shift:
            return Drawn("uniform", a, b, exact=False)
        return Drawn(form, a, b, self.exact and whole, self.masked)

    def like(self, form, a, b):
        return Drawn(form, a, b, exact=False)


def _random(name, args, kwargs):
    """The distribution of a random operator; None: `name` is none."""
    def argument(index, key, otherwise):
        value = args[index] if len(args) > index else kwargs.get(key, otherwise)
        return otherwise if value is None else value

    if name in ("rand", "rand_like"):
        return Drawn("uniform", 0.0, 1.0)
    if name in ("randn", "randn_like"):
        return Drawn("normal", 0.0, 1.0)
    if name == "uniform_":
        return Drawn("uniform", float(argument(1, "from", 0.0)), float(argument(2, "to", 1.0)))
    if name == "normal_":
        return Drawn("normal", float(argument(1, "mean", 0.0)), float(argument(2, "std", 1.0)))
    if name in ("randint", "randint_like"):
        numbers = [each for each in args if isinstance(each, int) and not isinstance(each, bool)]
        low, high = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
        return Drawn("integers", low, high - 1)
    if name == "randperm":
        return Drawn("integers", 0, int(args[0]) - 1, exact=False)
    if name in ("bernoulli_", "bernoulli"):
        return Drawn("integers", 0, 1, exact=False)
    if name == "exponential_":
        return Drawn("uniform", 0.0, 2.0, exact=False)
    return None


FRESH = ("rand", "randn", "randint", "rand_like", "randn_like", "randint_like")


def random_inputs(graph):
    """The calls that make tensors of random numbers, in order."""
    return [node for node in graph.nodes if node.op == "call_function" and random_name(node.target) in FRESH]


def random_name(operator):
    schema = getattr(operator, "_schema", None)
    return schema.name.split("::")[1] if schema else ""


def drawn_by(node):
    return _random(random_name(node.target), node.args, node.kwargs)


class Given(TorchDispatchMode):
    """Runs with these tensors as what the calls of random_inputs() give, in that order."""

    def __init__(self, tensors):
        super().__init__()
        self.tensors = list(tensors)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if random_name(func) in FRESH:
            return self.tensors.pop(0)
        return func(*args, **(kwargs or {}))


KEEP = ("detach", "alias", "view", "_unsafe_view", "reshape", "t", "transpose", "permute", "clone", "_to_copy", "expand", "unsqueeze",
        "squeeze", "slice", "select", "contiguous", "copy_", "lift_fresh", "_reshape_alias", "requires_grad_")


def _moved(name, drawn, args, result):
    """The distribution after an operator on something drawn."""
    number = args[1] if len(args) > 1 and isinstance(args[1], (int, float)) else None
    base = name.rstrip("_") if name not in KEEP else name
    if name in KEEP:
        if result.dtype == torch.bool:
            return Drawn("integers", 0, 1, drawn.exact)
        return drawn
    if number is not None and base in ("mul", "add", "sub", "div", "rsub"):
        scale, shift = {"mul": (number, 0), "div": (1 / number if number else 1, 0), "add": (1, number), "sub": (1, -number),
                        "rsub": (-1, number)}[base]
        return drawn.moved(scale, shift)
    if base == "neg":
        return drawn.moved(-1, 0)
    if base in ("triu", "tril") and len(args) == 1:
        return Drawn(drawn.form, drawn.a, drawn.b, drawn.exact, base)
    if base == "erfinv":  # of uniform(-c, c): normal, cut off
        return drawn.like("normal", 0.0, 1 / math.sqrt(2))
    if base == "abs":
        high = max(abs(drawn.a), abs(drawn.b)) if drawn.form != "normal" else 2 * drawn.b
        return drawn.like("uniform", 0.0, high)
    if base in ("softmax", "_softmax"):  # positive, about one over the length; a row's sum is near one
        length = result.shape[args[1] if len(args) > 1 and isinstance(args[1], int) else -1]
        return drawn.like("uniform", 0.5 / length, 1.5 / length)
    if base == "clamp":
        return drawn.like(drawn.form, drawn.a, drawn.b)
    return drawn.like("normal", 0.0, 1.0) if drawn.form == "normal" else drawn.like("uniform", drawn.a, drawn.b)


class Draws(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.storages = {}   # address: (tensor that keeps it, Drawn)

    def of(self, tensor):
        found = self.storages.get(tensor.untyped_storage().data_ptr())
        return found[1] if found else None

    def remember(self, tensor, drawn):
        if isinstance(tensor, torch.Tensor) and tensor.numel() > 0:
            self.storages[tensor.untyped_storage().data_ptr()] = (tensor, drawn)
        return tensor

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.split("::")[1]
        in_place = name.endswith("_") and args and isinstance(args[0], torch.Tensor)
        fresh = _random(name, args, kwargs)
        if fresh is not None:
            result = args[0] if in_place else self.untouched(func, args, kwargs)
            return self.remember(result, fresh)
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        drawn = next((self.of(each) for each in tensors if self.of(each) is not None), None)
        if drawn is None:
            return func(*args, **kwargs)
        if in_place and name in ("zero_", "fill_"):
            del self.storages[args[0].untyped_storage().data_ptr()]
            return func(*args, **kwargs)
        if in_place:
            return self.remember(args[0], _moved(name, drawn, args, args[0]))
        views = func.is_view or name in ("detach", "alias", "lift_fresh", "_to_copy" if not kwargs.get("dtype") else "")
        result = func(*args, **kwargs) if views else self.untouched(func, args, kwargs)
        for each in tree_leaves(result):
            if isinstance(each, torch.Tensor) and not (func.is_view and each.dtype == tensors[0].dtype):
                self.remember(each, _moved(name, drawn, args, each))
        return result

    @staticmethod
    def untouched(func, args, kwargs):
        """What the operator would give, of untouched memory: its shape is computed on the meta device."""
        def meta(value):
            return value.to("meta") if isinstance(value, torch.Tensor) else value
        named = tree_map(meta, kwargs)
        if "device" in named or not any(isinstance(each, torch.Tensor) for each in tree_leaves((args, kwargs))):
            named["device"] = torch.device("meta")
        shapes = func(*tree_map(meta, args), **named)

        def empty(value):
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype) if isinstance(value, torch.Tensor) else value
        return tree_map(empty, shapes)


def constant_values(tensor):
    """Of a tensor that nothing random went into: a distribution that makes it or stands for it, and whether it makes it."""
    if tensor.numel() == 0:
        return Drawn("constant", 0.0)
    values = tensor.detach().double()
    low, high = float(values.min()), float(values.max())
    if low == high:
        return Drawn("constant", low)
    for masked in ("tril", "triu"):
        if tensor.dim() >= 2 and torch.equal(values, getattr(torch, masked)(torch.full_like(values, high))):
            return Drawn("constant", high, masked=masked)
    if not tensor.dtype.is_floating_point:
        return Drawn("integers", int(low), int(high), exact=False)
    if not (math.isfinite(low) and math.isfinite(high)):
        return Drawn("normal", 0.0, 1.0, exact=False)
    return Drawn("uniform", low, high, exact=False)
