"""A problem file from a module, its parameters and its inputs."""

import inspect
import re

import torch
from torch.nn.modules.batchnorm import _NormBase

from . import names, sizes
from .constants import recognised
from .drawn import constant_values, drawn_by
from .emit import Emitter, dtype_name
from .operators import Value
from .sizes import Untold
from .trace import trace
from .workloads import Space, implied, needed


class Input:
    """One input of the problem, and the tensor of the module that it stands for."""

    def __init__(self, name, kind, where, shape, dtype, drawn):
        self.name, self.kind, self.where, self.shape, self.dtype, self.drawn = name, kind, where, shape, dtype, drawn
        self.made = None   # how the reference makes it (constants.py), so that it is no input


class Subject:
    """What is imported. `inputs`: positional arguments of forward; `drawn`: tensor → Drawn or None; `constants`: (name, size)
    of the file, for the names of axes."""

    def __init__(self, name, description, source, module, inputs, drawn, constants=()):
        self.name, self.description, self.source, self.module = name, description, source, module
        self.inputs, self.drawn, self.constants = list(inputs), drawn, list(constants)
        self.parameters = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        learned = {name for name, _ in module.named_parameters()}
        learned |= {f"{prefix}.{name}".lstrip(".") for prefix, each in module.named_modules() if isinstance(each, _NormBase)
                    for name, _ in each.named_buffers(recurse=False)}
        self.made = {name: recognised(tensor) for name, tensor in self.parameters.items() if name not in learned and drawn(tensor) is None}


class Imported:
    def __init__(self, subject):
        self.subject = subject
        for each in subject.inputs:
            if not isinstance(each, (torch.Tensor, int, float, bool, type(None))):
                raise Untold(f"an input of type {type(each).__name__}")
        self.trace, self.why_fixed = trace(subject.module, subject.parameters, subject.inputs)
        self.names = names.name_axes(self.trace.symbols, subject.constants, set(), self.trace.places)
        self.sizes = {self.names[symbol]: size for symbol, size in self.trace.symbols}
        self.write()
        while changes := self.merged() or self.tied() or self.loose() or self.stuck():
            renamed = {**{name: name for name in self.sizes}, **changes}
            self.names = {symbol: sizes.rename(name, renamed) for symbol, name in self.names.items()}
            self.write()
        self.workloads = self.space.chosen()

    def merged(self):
        """Axes that an operator of the text wants equal though torch.export did not ask."""
        return dict(self.emitter.equal[:1])

    def tied(self):
        """An equation of sizes that is no divisibility ties axes: one that is a sum of others is written as that sum. Else the
        module states them, and they are none: one axis where that makes the equation true, or all of them."""
        for constraint in self.constraints:
            kind, left, right = constraint
            if kind != "==" or (right == 0 and isinstance(left, tuple) and left[0] == "%"):
                continue
            for axis, other in ((left, right), (right, left)):
                if isinstance(axis, str) and sizes.is_sum(other) and axis not in sizes.axes_of(other):
                    return {axis: other}
            axes = sorted(sizes.axes_of(left) | sizes.axes_of(right), key=lambda axis: -self.real[axis])
            others = [c for c in self.constraints if c is not constraint]
            for axis in axes:
                fixed = {**{each: each for each in self.real}, axis: self.real[axis]}
                if implied((kind, sizes.rename(left, fixed), sizes.rename(right, fixed)), others, self.real):
                    return {axis: self.real[axis]}
            return {axis: self.real[axis] for axis in axes}
        return {}

    def loose(self):
        """An axis of a tensor that the reference makes, and of no input, is what the module says."""
        said = set(re.findall(r"[A-Za-z_]\w*", " ".join(self.statements)))
        return {axis: size for axis, size in self.unused_axes.items() if axis in said}

    def stuck(self):
        """An axis that can have no smaller size is none."""
        least = self.space.smallest()
        return {axis: size for axis, size in self.real.items() if size > 2 and least[axis] == size}

    def write(self):
        """The statements, inputs, axes and constraints, by self.names."""
        taken = {name for name in self.names.values() if isinstance(name, str)}
        self.real = {name: self.sizes[name] for name in self.names.values() if isinstance(name, str)}
        self.emitter = Emitter(self.trace, self.names, taken)
        self.inputs = [self.make_input(*each, taken) for each in self.trace.placeholders]
        self.name_outputs(taken)
        for (node, _, _), each in zip(self.trace.placeholders, self.inputs):
            self.emitter.values[node] = self.emitter_value(each)
        self.emitter.run()
        self.finish_outputs()
        self.drop_unused()
        self.drop_unused_axes()
        renamed = [(kind, sizes.rename(a, self.names), sizes.rename(b, self.names)) for kind, a, b in self.trace.constraints]
        known = set(self.real)
        self.constraints = needed([c for c in renamed if sizes.axes_of(c[1]) | sizes.axes_of(c[2]) <= known], self.real)
        shapes = [size for size in self.emitter.shapes_seen if sizes.axes_of(size) <= known]
        elements = [sizes.product(each.shape) for each in self.inputs] + self.emitter.elements
        work = [[size for size in each if sizes.axes_of(size) <= known] for each in (self.emitter.multiply_adds, elements)]
        self.space = Space(self.real, self.constraints, shapes, work, [size for size in self.emitter.groups if sizes.axes_of(size) <= known])

    def make_input(self, node, kind, where, taken):
        value = node.meta["val"]
        shape, dtype = self.emitter.shape_of(value), dtype_name(value.dtype)
        if kind == "random":
            return Input(names.identifier(node.name, taken, "x"), kind, where, shape, dtype, drawn_by(node))
        if kind == "input":
            tensor, wanted = self.subject.inputs[where], forward_names(self.subject.module, where)
        elif kind == "parameter":
            tensor, wanted = self.subject.parameters[where], where
        else:
            tensor, wanted = self.trace.program.constants[where], where
        drawn = self.subject.drawn(tensor) or constant_values(tensor)
        made = Input(names.identifier(wanted, taken, "x"), kind, where, shape, dtype, drawn)
        if kind == "constant" and self.subject.drawn(tensor) is None:
            made.made = recognised(tensor)
        elif kind == "parameter":
            made.made = self.subject.made.get(where)
        return made

    def emitter_value(self, each):
        made = Value(each.name, each.shape, each.dtype)
        if each.made:
            said = each.made.expression(each.shape, each.dtype)
            if not each.shape:   # torch.tensor(0.5) in forward
                return Value(said, [], each.dtype)
            self.emitter.statements.append(f"{each.name} = {said}")
            return made
        if not each.drawn.masked:
            return made
        rows, columns = each.shape[-2:]
        relation = {"triu": ">=", "tril": "<="}[each.drawn.masked]
        name = names.identifier(f"{each.name}_{each.drawn.masked}", self.emitter.taken)
        zero = "0" if each.dtype[0] in "iu" else "0.0"
        self.emitter.statements.append(f"{name} = where(arange({sizes.text(columns)}) {relation} arange({sizes.text(rows)})[:, None], {each.name}, {zero})")
        return Value(name, each.shape, each.dtype)

    def name_outputs(self, taken):
        self.outputs = []
        for number, node in enumerate(self.trace.outputs):
            name = names.identifier("y" if len(self.trace.outputs) == 1 else f"y{number}", taken)
            self.outputs.append((name, node))
            source = node.args[0] if getattr(node.target, "__name__", "") == "getitem" else node
            key = (source, str(node.args[1]) if source is not node else "")
            self.emitter.wanted_names.setdefault(key, name)

    def finish_outputs(self):
        """An output that is a value with another name (an input, a view, another output)."""
        for name, node in self.outputs:
            value = self.emitter.values.get(node)
            if value is None:
                raise Untold("an output that nothing computes")
            if value.text != name:
                self.emitter.statements.append(f"{name} = {value}")

    def drop_unused(self):
        """Statements and inputs that no output needs."""
        live, kept = {name for name, _ in self.outputs}, []
        for statement in reversed(self.emitter.statements):
            name, _, expression = statement.partition(" = ")
            if name in live:
                kept.append(statement)
                live.update(re.findall(r"[A-Za-z_]\w*", expression))
        self.statements = kept[::-1]
        self.inputs = [each for each in self.inputs if not each.made]
        self.unused = [each.name for each in self.inputs if each.name not in live]
        self.inputs = [each for each in self.inputs if each.name in live]
        self.functions = {body: name for body, name in self.emitter.functions.items() if name in live}
        if not self.inputs:
            raise Untold("the output depends on no input")

    def drop_unused_axes(self):
        used = set()
        for each in self.inputs:
            for size in each.shape:
                used |= sizes.axes_of(size)
        self.unused_axes = {axis: size for axis, size in self.real.items() if axis not in used}
        self.real = {axis: size for axis, size in self.real.items() if axis in used}

    # The text.

    def distribution(self, each):
        d = each.drawn
        if d.form == "constant":
            return f"constant({plain(d.a)})"
        if d.form == "integers":
            for axis, size in self.real.items():
                if size == d.b + 1 and size > 2:
                    return f"integers({plain(d.a)}, {axis} - 1)"
            return f"integers({plain(d.a)}, {plain(d.b)})"
        return f"{d.form}({plain(d.a)}, {plain(d.b)})"

    def trained(self):
        """Other values for parameters that start as a constant, so that a candidate cannot leave them out."""
        return [f"{each.name} ~ uniform({plain(each.drawn.a - 0.5)}, {plain(each.drawn.a + 0.5)})" for each in self.inputs
                if each.kind == "parameter" and each.drawn.form == "constant" and not each.drawn.masked and each.dtype[0] in "fb" and each.dtype != "bool"]

    def text(self):
        lines = [f'problem {self.subject.name}: "{quoted(self.subject.description)}"', ""]
        if self.real:
            constrained = [sizes.constraint_text(c) for c in self.constraints]
            lines += ["axes:"] + [f"  {axis} >= 1" for axis in self.real if not any(is_bound(c, axis) for c in self.constraints)] + [f"  {c}" for c in constrained] + [""]
        if self.functions:
            lines += ["python:", "  import torch"]
            for body, name in self.functions.items():
                lines += [""] + ["  " + line for line in f"def {name}{body}".splitlines()]
            lines.append("")
        lines += ["inputs:"] + [f"  {i.name}: {i.dtype}{sizes.shape_text(i.shape)} ~ {self.distribution(i)}" for i in self.inputs]
        lines += ["", "outputs:"]
        for name, node in self.outputs:
            value = node.meta["val"]
            lines.append(f"  {name}: {dtype_name(value.dtype)}{sizes.shape_text(self.emitter.shape_of(value))}")
        lines += ["", "reference:"] + [f"  {statement}" for statement in self.statements]
        lines += ["", "workloads:"]
        for role, name, axes in self.workloads:
            settings = [f"{axis}={size}" for axis, size in axes.items()]
            if role in ("shape", "emulator"):
                settings += self.trained()
            note = f' "{quoted(self.subject.source)}"' if role == "real" else ""
            lines.append(f"  {role} {name}: {wrapped(settings)}{note}")
        return "\n".join(lines) + "\n"


def is_bound(constraint, axis):
    return constraint[0] == ">=" and constraint[1] == axis and sizes.is_number(constraint[2])


def wrapped(settings):
    lines, line = [], ""
    for i, setting in enumerate(settings):
        line += setting + (", " if i + 1 < len(settings) else "")
        if len(line) > 90 and i + 1 < len(settings):
            lines.append(line.rstrip())
            line = ""
    return "\n    ".join(lines + [line])


def plain(value):
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e9 else f"{value:.9g}"


def quoted(text):
    return " ".join("".join(c for c in text if c not in '"\\' and c.isprintable() or c.isspace()).split())[:200]


def forward_names(module, position):
    try:
        parameters = list(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        parameters = []
    return parameters[position] if position < len(parameters) else f"x{position}"
