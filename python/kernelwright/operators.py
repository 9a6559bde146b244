"""How each operator of PyTorch is said in the text of a problem: a table from its name to a rule.

A rule is called as rule(emitter, a), where `a` holds the operator's arguments by the names of its schema: tensors as `Value`,
sizes and numbers as nested tuples (sizes.py), the rest as they are. It gives the text of an expression, or a Value, or a list
of these for an operator with several results. It raises `Untold` where the text cannot say it.
"""

from . import sizes

RULES = {}


class Value:
    """A tensor of the reference: an expression that binds tightly (mostly a name), its shape and dtype."""

    def __init__(self, text, shape, dtype):
        self.text, self.shape, self.dtype = text, list(shape), dtype

    def __str__(self):
        return self.text

    @property
    def rank(self):
        return len(self.shape)

    @property
    def real(self):
        return self.dtype in ("f64", "f32", "f16", "bf16", "e4m3", "e5m2")


class Arguments:
    def __init__(self, values):
        self.__dict__.update(values)

    def get(self, name, otherwise=None):
        return self.__dict__.get(name, otherwise)


def rule(*names):
    def add(function):
        for name in names:
            RULES[name] = function
        return function
    return add


def operand(value):
    """As an operand of any operator: numbers and sizes in brackets where needed."""
    if isinstance(value, Value):
        return value.text
    return sizes.text(value, 9 if isinstance(value, tuple) else 1)


def real(value):
    """For arithmetic: a condition becomes 0 or 1."""
    if isinstance(value, Value) and value.dtype == "bool":
        return f"cast({value}, i32)"
    if isinstance(value, bool):
        return str(int(value))
    return operand(value)


def axis_of(axis, rank):
    return axis + rank if axis < 0 else axis


def axes_list(axes, rank):
    """None or [] mean all."""
    if axes is None or axes == []:
        return list(range(rank))
    return [axis_of(axis, rank) for axis in (axes if isinstance(axes, (list, tuple)) else [axes])]


def same_shape(left, right):
    return len(left) == len(right) and all(a == b for a, b in zip(left, right))


def per_channel(emitter, value, rank):
    """[C] as [C, 1, …], to stand at axis 1 of a tensor of that rank."""
    if rank == 2:
        return value
    index = ", ".join([":"] + ["None"] * (rank - 2))
    return Value(f"{value}[{index}]", value.shape + [1] * (rank - 2), value.dtype)


def expanded(values, count):
    """An argument of a window: a number or a list of one, as a list."""
    values = list(values) if isinstance(values, (list, tuple)) and not (values and isinstance(values[0], str)) else [values]
    return values * count if len(values) == 1 else values


def keyword(name, values, default):
    """`, name=[…]`, or nothing when all are the default."""
    if all(value == default for value in values):
        return ""
    return f", {name}={sizes.shape_text(values)}"
