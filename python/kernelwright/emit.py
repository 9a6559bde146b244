"""From a traced graph to the statements of a reference."""

import collections
import operator
import re

import torch

from . import layers, moves, names, pointwise, products, recurrent, reductions, sizes  # noqa: F401  (the modules fill RULES)
from .operators import RULES, Arguments, Value
from .sizes import Untold

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int8: "i8", torch.int16: "i16",
          torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.bool: "bool", torch.float8_e4m3fn: "e4m3",
          torch.float8_e5m2: "e5m2"}


def dtype_name(dtype):
    if dtype not in DTYPES:
        raise Untold(f"tensors of {dtype}")
    return DTYPES[dtype]


class Emitter:
    def __init__(self, trace, axis_names, taken):
        self.trace, self.axis_names, self.taken = trace, axis_names, taken
        self.values, self.statements, self.functions = {}, [], {}
        self.native, self.opaque = collections.Counter(), collections.Counter()
        self.multiply_adds, self.elements, self.shapes_seen = [], [], []
        self.wanted_names, self.equal, self.untold, self.groups = {}, [], {}, []

    # What rules ask for.

    def let(self, expression, shape, dtype, hint=""):
        """A name for an expression."""
        if isinstance(expression, Value):
            return expression
        if re.fullmatch(r"[A-Za-z_]\w*", expression):
            return Value(expression, shape, dtype)
        name = names.identifier(f"{self.node.name}_{hint}" if hint else self.node.name, self.taken, "t")
        self.statements.append(f"{name} = {expression}")
        self.seen(shape)
        return Value(name, shape, dtype)

    def seen(self, shape):
        self.shapes_seen += list(shape)
        self.elements.append(sizes.product(shape))

    def multiplies(self, shape, length):
        self.multiply_adds.append(sizes.product([*shape, length]))

    def same(self, first, second):
        """The operator wants two sizes equal: axes of two names are one."""
        if isinstance(first, str) and isinstance(second, str) and first != second:
            self.equal.append((second, first))

    @staticmethod
    def input(a):
        return a.get("self", a.get("input", a.get("x")))

    def condition(self, value):
        if isinstance(value, Value):
            return value.text if value.dtype == "bool" else f"({value} != 0)"
        return "(0 == 0)" if value else "(0 == 1)"

    def let_condition(self, value):
        return value if value.dtype == "bool" else self.let(f"{value} != 0", value.shape, "bool")

    # The walk.

    def size(self, value):
        return sizes.rename(self.trace.size(value), self.axis_names)

    def shape_of(self, tensor):
        return [self.size(size) for size in tensor.shape]

    def argument(self, value):
        if isinstance(value, torch.fx.Node):
            meta = value.meta.get("val")
            if isinstance(meta, (torch.SymInt, torch.SymFloat, int, float)) and not isinstance(meta, bool):
                return self.size(meta)
            if value not in self.values:
                raise Untold(f"the value of {value.target}")
            return self.values[value]
        if isinstance(value, (list, tuple)):
            return [self.argument(each) for each in value]
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            return self.size(value)
        return value

    def run(self):
        for node in self.trace.program.graph.nodes:
            if node.op != "call_function" or node in self.values:   # what forward draws has one already
                continue
            self.node = node
            result = node.meta.get("val")
            if node.target is operator.getitem:
                source = self.values.get(node.args[0])
                if isinstance(source, list):
                    self.values[node] = source[node.args[1]]
                continue
            if isinstance(result, torch.Tensor) or (isinstance(result, (list, tuple)) and any(isinstance(r, torch.Tensor) for r in result)):
                self.call(node, result)
            # The rest are sizes, which are read from `meta`, and checks of them.

    def call(self, node, result):
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            raise Untold(f"a call of {node.target}")
        self.operator = schema.name.split("::")[1]
        writes = schema.is_mutable and self.operator.endswith("_")
        if writes:
            self.write_is_plain(node)
            self.operator = self.operator[:-1]
        many = not isinstance(result, torch.Tensor)
        results = list(result) if many else [result]
        self.shapes = [self.shape_of(r) for r in results]
        self.shape, self.dtypes = self.shapes[0], [dtype_name(r.dtype) for r in results]
        try:
            answer = self.say(node, schema)
            self.native[self.operator] += 1
        except Untold as untold:
            answer = self.say_opaque(node, schema, untold)
        answers = answer if isinstance(answer, list) else [answer]
        made = [self.named(node, each, shape, dtype, f"{i}" if many else "")
                for i, (each, shape, dtype) in enumerate(zip(answers, self.shapes, self.dtypes))]
        self.values[node] = made if many else made[0]
        if writes:
            self.values[node.args[0]] = self.values[node]

    def write_is_plain(self, node):
        """A write into a tensor is a new value for it; views of it that are read later would miss it."""
        target = node.args[0]
        views = [user for user in target.users if user is not node and getattr(getattr(user, "target", None), "is_view", False)]
        if target.op == "call_function" and getattr(target.target, "is_view", False) and len(target.args[0].users) > 1:
            raise Untold(f"{node.target} writes into a view")
        if any(len(view.users) > 0 for view in views):
            raise Untold(f"{node.target} writes into a tensor that has views")

    @property
    def dtype(self):
        return self.dtypes[0]

    def named(self, node, answer, shape, dtype, suffix):
        if answer is None:
            return None
        if isinstance(answer, Value):
            return Value(answer.text, shape, dtype)
        wanted = self.wanted_names.get((node, suffix))
        if wanted is None:
            made = self.let(answer, shape, dtype, suffix)
            return Value(made.text, shape, dtype)
        self.statements.append(f"{wanted} = {answer}")
        self.seen(shape)
        return Value(wanted, shape, dtype)

    def say(self, node, schema):
        rule = RULES.get(self.operator)
        if rule is None:
            raise Untold(f"operator {self.operator}")
        given = {}
        for position, argument in enumerate(schema.arguments):
            if position < len(node.args):
                given[argument.name] = self.argument(node.args[position])
            elif argument.name in node.kwargs:
                given[argument.name] = self.argument(node.kwargs[argument.name])
            elif argument.has_default_value():
                given[argument.name] = argument.default_value
        before = len(self.statements)
        try:
            return rule(self, Arguments(given))
        except (Untold, AttributeError, TypeError, KeyError) as error:
            del self.statements[before:]
            raise Untold(str(error)) from error

    def say_opaque(self, node, schema, untold):
        """A Python function of the problem that calls the operator itself."""
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            raise Untold(f"{self.operator} is random: {untold}")
        parameters, operands = [], []

        def written(value):
            value = self.argument(value) if isinstance(value, torch.fx.Node) else value
            if isinstance(value, (torch.SymInt, torch.SymFloat)):
                value = self.size(value)
            if isinstance(value, Value) or isinstance(value, str) and value in self.axis_names.values() or isinstance(value, tuple) and value and value[0] in sizes.LEVELS:
                parameters.append(f"a{len(parameters)}")
                operands.append(value.text if isinstance(value, Value) else sizes.text(value))
                return parameters[-1]
            if isinstance(value, (list, tuple)):
                return "[" + ", ".join(written(each) for each in value) + "]"
            return repr(value)

        arguments = [written(each) for each in node.args]
        arguments += [f"{key}={written(each)}" for key, each in node.kwargs.items() if key not in ("device", "pin_memory", "layout")]
        space, packet = schema.name.split("::")
        called = f"torch.{packet}" if space == "kernelwright" else f"torch.ops.{space}.{packet}.{schema.overload_name or 'default'}"
        body = f"({', '.join(parameters)}):\n    return {called}({', '.join(arguments)})"
        if space == "kernelwright":
            for positions, weight in recurrent.multiply_adds(self.argument(node.args[0]), self.argument(node.args[2])):
                self.multiplies(positions, sizes.product(weight))
        name = self.functions.setdefault(body, f"{packet.strip('_')}_{len(self.functions)}" if body not in self.functions else "")
        self.opaque[packet] += 1
        self.untold[packet] = str(untold)
        called = ", ".join([name, *operands])
        many = len(self.shapes) > 1 or not isinstance(node.meta["val"], torch.Tensor)
        answers = []
        for i, (shape, dtype) in enumerate(zip(self.shapes, self.dtypes)):
            output = f", output={i}" if many else ""
            answers.append(f"python({called}, shape={sizes.shape_text(shape)}, dtype={dtype}{output})")
        return answers if many else answers[0]
