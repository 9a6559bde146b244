"""The reference of a problem as one PyTorch function, as an engineer would write it.

    print(Function(ProblemFile(text), "stored").text())

Styles: `stored` computes in the dtypes in which tensors are kept, each result rounded to them, as PyTorch does by itself;
`wide` computes in f32 between what is kept, products too, and is careful where PyTorch by itself is quick: the order of equal ones;
`reference` computes in f64 and rounds where the text says cast.
"""

import ast
import copy
import keyword

from . import torch_calls, torch_moves
from .problem_file import ProblemFile, target_of

UNTRANSLATED = 3   # exit code
STYLES = ("stored", "wide", "reference")
TORCH = {"f64": "float64", "f32": "float32", "tf32": "float32", "bf16": "bfloat16", "f16": "float16", "e4m3": "float8_e4m3fn",
         "e5m2": "float8_e5m2", "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "i64": "int64", "bool": "bool"}
TINY, NARROW, FLOATS = ("e4m3", "e5m2"), ("f16", "bf16"), ("f64", "f32", "f16", "bf16", "e4m3", "e5m2")
INTEGERS = ("u8", "i8", "i16", "i32", "i64")   # the wider ones later
PACKED = ("i4", "u4", "e2m1")
OPERATORS = {ast.Add: "_0 + _1", ast.Sub: "_0 - _1", ast.Mult: "_0 * _1", ast.Div: "_0 / _1", ast.FloorDiv: "_0 // _1", ast.Mod: "_0 % _1",
             ast.Pow: "_0 ** _1"}
LIMITS = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767), "i4": (-8, 7), "u4": (0, 15), "e4m3": (-448, 448)}


HIDDEN = ("torch", "math", "functional", "tuple", "None")
MOVES = ("transpose", "permute", "broadcast", "windows", "conv", "conv_transpose", "topk", "topk_index")   # what may give elements that lie in memory out of order


class Untranslatable(Exception):
    """A place in the text that no PyTorch is known for."""

    def __init__(self, node, message):
        super().__init__(f"line {node.lineno}: {message}" if hasattr(node, "lineno") else message)


class Value:
    """A Python expression and what it gives: a dtype, or of a Python number `size` or `real`."""

    def __init__(self, node, dtype):
        self.node, self.dtype = node, dtype

    @property
    def is_number(self):
        return self.dtype in ("size", "real")


def make(template, *nodes):
    """The expression of the template with nodes for _0, _1, …"""
    class Filled(ast.NodeTransformer):
        def visit_Name(self, name):
            return copy.deepcopy(nodes[int(name.id[1:])]) if name.id[0] == "_" and name.id[1:].isdigit() else name
    return Filled().visit(ast.parse(template, mode="eval").body)


class Function:
    def __init__(self, problem: ProblemFile, style: str):
        self.problem, self.style = problem, style
        self.lines, self.used, self.helpers, self.known, self.tf32 = [], set(), set(), {}, False
        self.values = {name: Value(ast.Name(name), "real" if isinstance(value, float) else "size") for name, value in problem.attributes.items()}
        self.values.update({axis: Value(ast.Name(axis), "size") for axis in problem.axes})
        self.values.update(inf=Value(ast.parse("math.inf", mode="eval").body, "real"), nan=Value(ast.parse("math.nan", mode="eval").body, "real"))
        statements = problem.needed()
        self.calls = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Call)]
        self.taken = {*self.values, *(each.name for each in problem.inputs), *map(target_of, statements)}
        for name in sorted(self.taken):
            if name in HIDDEN or keyword.iskeyword(name):
                raise Untranslatable(None, f"the name '{name}' means something else in Python; rename it")
        self.dense = not any(isinstance(each, ast.Subscript) or getattr(getattr(each, "func", None), "id", "") in MOVES
                             for statement in statements for each in ast.walk(statement.value))
        for each in problem.inputs:
            self.values[each.name] = Value(ast.Name(each.name), self.given(each.dtype))
            if each.dtype in PACKED and style != "reference":
                self.unpack(each)
        for statement in statements:
            self.statement(statement)
        self.results = [self.output(each) for each in problem.outputs]

    def given(self, dtype):
        """What an input of this dtype is given as."""
        if self.style == "reference" and dtype != "bool":
            return "i64" if dtype[0] in "iu" and dtype[1:].isdigit() else "f64"
        if dtype not in TORCH and dtype not in PACKED:
            raise Untranslatable(None, f"PyTorch has no tensors of {dtype}")
        return "f32" if dtype == "tf32" else dtype

    def unpack(self, tensor):
        shape = ast.parse(tensor.shape, mode="eval").body
        more = [] if tensor.dtype != "e2m1" else [make(f"torch.{'bfloat16' if self.style == 'stored' else 'float32'}")]
        names = ", ".join(f"_{i}" for i in range(2 + len(more)))
        value = self.helper(f"unpack_{tensor.dtype}", f"({names})", ast.Name(tensor.name), self.number_list(shape), *more)
        self.assign(tensor.name, Value(value, {"i4": "i8", "u4": "u8"}.get(tensor.dtype, "bf16" if self.style == "stored" else "f32")))

    # --- statements

    def assign(self, name, value):
        self.lines.append(f"{name} = {ast.unparse(value.node)}")
        self.values[name] = Value(ast.Name(name), value.dtype)

    def statement(self, statement):
        value = self.expression(statement.value)
        if isinstance(statement, ast.AnnAssign) and self.style != "reference" and not value.is_number:
            kept = statement.annotation
            value = self.kept(value, kept.id if isinstance(kept, ast.Name) else kept.value.id, statement)
        self.assign(target_of(statement), value)

    def kept(self, value, dtype, place):
        if dtype == "tf32":
            self.tf32, dtype = True, "f32"
        if dtype not in TORCH:
            raise Untranslatable(place, f"PyTorch has no tensors of {dtype}")
        return value if value.dtype == dtype else Value(make(f"_0.to(torch.{TORCH[dtype]})", value.node), dtype)

    def output(self, tensor):
        value, dtype = self.values[tensor.name], tensor.dtype
        if self.style == "reference":
            return value.node
        node = value.node
        if dtype in ("i4", "u4") or (value.dtype != dtype and dtype in LIMITS):
            if value.dtype in FLOATS and dtype[0] in "iu":
                node = make("torch.round(_0)", node)
            low, high = LIMITS[dtype]
            node = make(f"torch.clamp(_0, {low}, {high})", node)
        elif value.dtype in FLOATS and dtype in INTEGERS:
            node = make("torch.round(_0)", node)
        if dtype in ("i4", "u4"):
            return self.helper("pack_nibbles", "(_0)", node)
        node = self.kept(Value(node, value.dtype), dtype, None).node
        return node if self.dense else make("_0.contiguous()", node)

    def helper(self, name, call, *nodes):
        self.helpers.add(name)
        return make(name + call, *nodes)

    def shared(self, name, template, *nodes):
        """A call whose result several places use, made once."""
        node = make(template, *nodes)
        key = ast.unparse(node)
        if key not in self.known:
            self.known[key] = self.fresh(name)
            self.lines.append(f"{self.known[key]} = {key}")
        return ast.Name(self.known[key])

    def fresh(self, name):
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # --- expressions

    def expression(self, node):
        method = getattr(self, "of_" + type(node).__name__.lower(), None)
        if method is None:
            raise Untranslatable(node, f"no PyTorch is known for {ast.unparse(node)}")
        return method(node)

    def of_name(self, node):
        self.used.add(node.id)
        return self.values[node.id]

    def of_constant(self, node):
        return Value(node, "real" if isinstance(node.value, float) else "size")

    def of_unaryop(self, node):
        value = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(make("~_0", value.node), "bool")
        value, = self.computable(value)
        return Value(ast.UnaryOp(node.op, value.node), value.dtype)

    def of_binop(self, node):
        left, right = self.expression(node.left), self.expression(node.right)
        if isinstance(node.op, ast.MatMult):
            return torch_moves.product(self, left, right)
        left, right = self.computable(left, right)
        dtype = self.joined(left, right)
        if isinstance(node.op, ast.Div) and dtype not in FLOATS:
            dtype = "real" if left.is_number and right.is_number else self.default
        return Value(make(OPERATORS[type(node.op)], left.node, right.node), dtype)

    def of_boolop(self, node):
        sign = "&" if isinstance(node.op, ast.And) else "|"
        value = self.expression(node.values[0])
        for each in node.values[1:]:
            value = Value(make(f"_0 {sign} _1", value.node, self.expression(each).node), "bool")
        return value

    def of_compare(self, node):
        left, right = self.computable(self.expression(node.left), self.expression(node.comparators[0]))
        return Value(ast.Compare(left.node, node.ops, [right.node]), "bool")

    def of_subscript(self, node):
        value = self.expression(node.value)
        return Value(ast.Subscript(value.node, self.index(node.slice)), value.dtype)

    def index(self, node):
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.index(each) for each in node.elts])
        if isinstance(node, ast.Slice):
            return ast.Slice(*(each and self.index(each) for each in (node.lower, node.upper, node.step)))
        return node if isinstance(node, ast.Constant) else self.expression(node).node

    def number_list(self, node):
        return ast.Tuple([self.expression(each).node for each in node.elts])

    def of_call(self, node):
        return torch_calls.call(self, node)

    # --- dtypes

    @property
    def default(self):
        return "f64" if self.style == "reference" else "f32"

    def to(self, value, dtype):
        return Value(make("_0.float()" if dtype == "f32" else f"_0.to(torch.{TORCH[dtype]})", value.node), dtype)

    def computable(self, *values):
        """As operands of arithmetic. In style wide: f32, if only by PyTorch's promotion."""
        values = [self.to(each, "bf16" if self.style == "stored" else "f32") if each.dtype in TINY else each for each in values]
        values = [self.to(each, "i32") if each.dtype in ("i8", "u8", "i16") else each for each in values]
        if self.style == "wide" and not any(each.dtype in ("f32", "f64") for each in values):
            values = [self.widened(each) if each.dtype in NARROW else each for each in values]
        return values

    def widened(self, value):
        if not isinstance(value.node, ast.Name):
            return self.to(value, "f32")
        return Value(self.shared(value.node.id + "_f32", "_0.float()", value.node), "f32")

    def joined(self, *values):
        """What PyTorch promotes them to."""
        dtypes = {each.dtype for each in values}
        floats = [dtype for dtype in FLOATS if dtype in dtypes]
        if floats:
            return "f32" if {"f16", "bf16"} <= dtypes and floats[0] in NARROW else floats[0]
        integers = [dtype for dtype in INTEGERS if dtype in dtypes]
        if "real" in dtypes:
            return self.default if integers else "real"
        return integers[-1] if integers else "size" if "size" in dtypes else "bool"

    # --- the text

    def text(self):
        arguments = [each.name for each in self.problem.inputs]
        axes = [axis for axis in self.problem.axes if axis in self.used]
        head = ["import math", "", "import torch", "from torch.nn import functional"]
        if self.helpers:
            head.append(f"from kernelwright.torch_functions import {', '.join(sorted(self.helpers))}")
        if self.tf32:
            head += ["", "torch.backends.cuda.matmul.allow_tf32 = True"]
        signature = ", ".join(arguments + (["*"] + axes if axes else []))
        body = [f"{name} = {value!r}" for name, value in self.problem.attributes.items() if name in self.used] + self.lines
        results = ", ".join(ast.unparse(each) for each in self.results)
        body.append(f"return {results}")
        return "\n".join(head + ["", "", f"def {self.problem.name}({signature}):"] + ["    " + line for line in body]) + "\n"


def main(path, style):
    import sys
    try:
        with open(path, encoding="utf-8") as file:
            sys.stdout.write(Function(ProblemFile(file.read()), style).text())
    except (Untranslatable, SyntaxError) as error:
        sys.stderr.write(reason(error))
        return UNTRANSLATED
    return 0


def reason(error):
    return f"line {error.lineno}: Python reads this otherwise: {error.msg}" if isinstance(error, SyntaxError) else str(error)
