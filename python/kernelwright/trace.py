"""A module as a graph with symbolic sizes: torch.export of f(parameters, inputs) with every size free that can be."""

import torch
from torch.func import functional_call

from . import names, sizes
from .drawn import random_inputs
from .recurrent import Whole
from .sizes import Untold

MOST_AXES = 60


class Functional(torch.nn.Module):
    """f(parameters, inputs); the module is no submodule, so its own tensors are not part of what is exported."""

    def __init__(self, module):
        super().__init__()
        object.__setattr__(self, "module", module)

    def forward(self, parameters, inputs):
        with Whole():
            return functional_call(self.module, parameters, tuple(inputs))


class Trace:
    """`placeholders`: (node, kind, name or position); kind is parameter, input, constant or random (what forward draws).
    Sizes are nested tuples over the symbols of `symbols`: (symbol, size in the example), those of the inputs first."""

    def __init__(self, program, shape_env, parameters, inputs):
        self.program, self.shape_env = program, shape_env
        self.placeholders, self.outputs = [], []
        flat = [("parameter", name) for name in parameters] + [("input", i) for i in range(len(inputs))]
        nodes = {node.name: node for node in program.graph.nodes}
        for spec in program.graph_signature.input_specs:
            kind = spec.kind.name
            if kind == "USER_INPUT":
                what = flat.pop(0)
                if hasattr(spec.arg, "value"):   # a number, which the graph holds
                    continue
                self.placeholders.append((nodes[spec.arg.name], *what))
            elif kind in ("CONSTANT_TENSOR", "BUFFER", "PARAMETER"):
                self.placeholders.append((nodes[spec.arg.name], "constant", spec.target))
            else:
                raise Untold(f"an input of kind {kind}")
        self.placeholders += [(node, "random", i) for i, node in enumerate(random_inputs(program.graph))]
        for spec in program.graph_signature.output_specs:
            if spec.kind.name == "USER_OUTPUT":
                if hasattr(spec.arg, "value") and spec.arg.value is None:
                    continue
                if not hasattr(spec.arg, "name") or hasattr(spec.arg, "value"):
                    raise Untold("an output that is a number, not a tensor")
                self.outputs.append(nodes[spec.arg.name])
        self.symbols = self.find_symbols()
        self.constraints = self.find_constraints()

    def find_symbols(self):
        found = {}
        self.places = {}
        for node, kind, where in sorted(self.placeholders, key=lambda each: each[1] != "input"):
            for axis, size in enumerate(node.meta["val"].shape):
                for symbol in sorted(sizes.axes_of(self.size(size))):
                    if symbol not in found:
                        found[symbol] = self.example(symbol)
                        self.places[symbol] = names.place_name(kind, str(where), node.meta["val"].dim(), axis)
        return list(found.items())

    def example(self, symbol):
        values = getattr(self.shape_env, "backed_var_to_val", None) or self.shape_env.var_to_val
        for each, value in values.items():
            if str(each) == symbol:
                return int(value)
        raise Untold("a size that depends on values")

    def size(self, value):
        """Of a SymInt, SymFloat or number."""
        if isinstance(value, (int, float)):
            return value
        return sizes.from_sympy(self.shape_env.simplify(value.node.expr))

    def find_constraints(self):
        known, found = {symbol for symbol, _ in self.symbols}, []
        for guard in self.shape_env.guards:
            try:
                constraint = sizes.relation(self.shape_env.simplify(guard.expr))
            except Untold:
                continue
            if constraint and sizes.axes_of(constraint[1]) | sizes.axes_of(constraint[2]) <= known and constraint not in found:
                found.append(constraint)
        return found


def shape_env_of(program):
    for node in program.graph.nodes:
        for size in getattr(node.meta.get("val"), "shape", ()):
            if isinstance(size, torch.SymInt):
                return size.node.shape_env
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    return ShapeEnv()


def dynamic(tensor, free):
    auto, static = torch.export.Dim.AUTO, torch.export.Dim.STATIC
    return {i: auto if free(i, tensor.shape[i]) else static for i in range(tensor.dim())}


# What may be an axis, from most to least: kernels stay as they are, since an axis each for width and height of every
# convolution says nothing; then the inputs alone; then their first axis; then nothing.
CHOICES = [
    (lambda rank: lambda i, size: size > 1 and not (rank > 2 and i > 1), lambda i, size: size > 1),
    (lambda rank: lambda i, size: False, lambda i, size: size > 1),
    (lambda rank: lambda i, size: False, lambda i, size: i == 0 and size > 1),
    (lambda rank: lambda i, size: False, lambda i, size: False),
]


def trace(module, parameters, inputs):
    """Gives the Trace and why sizes were fixed (""); raises Untold. What forward assigns to the module is undone."""
    kept = [(each, dict(vars(each))) for each in module.modules()]
    try:
        return traced(module, parameters, inputs)
    finally:
        for each, attributes in kept:
            vars(each).clear()
            vars(each).update(attributes)


def traced(module, parameters, inputs):
    reason = ""
    matrices = sum(each.dim() > 1 for each in parameters.values())
    if matrices > MOST_AXES:   # an axis each at the least; torch.export would take minutes to find that out
        reason = f"{matrices} layers"
    for of_parameter, of_input in CHOICES[1 if reason else 0:]:
        shapes = ({name: dynamic(t, of_parameter(t.dim())) for name, t in parameters.items()},
                  [dynamic(x, of_input) if isinstance(x, torch.Tensor) else None for x in inputs])
        try:
            program = torch.export.export(Functional(module), (dict(parameters), list(inputs)), dynamic_shapes=shapes, strict=False)
            found = Trace(program, shape_env_of(program), list(parameters), inputs)
        except Untold:
            raise
        except Exception as error:  # whatever torch or the module says: the next choice asks for less
            reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
            continue
        if len(found.symbols) <= MOST_AXES:
            return found, reason
        reason = f"{len(found.symbols)} axes"
    raise Untold(f"torch.export: {reason[:300]}")
