"""A problem's reference as one matrix product of cuBLASLt's with an epilogue that it has, and the rest in PyTorch.

D = activation(scale_a[i] * scale_b[j] * alpha * (A @ B)[i, j] + C[i, j] + bias[j])

A and B are inputs or views of them. Vectors of scales are for fp8 alone, and for GPUs of compute capability 9.0 (`outer_scales`).
"""

import ast

from . import torch_calls
from .expression_graph import MOVES, Graph, NoOperator, is_call, made_call, operands, rest_of

CALL = "cublaslt_product"
TINY, FLOATS = ("e4m3", "e5m2"), ("f64", "f32", "f16", "bf16")
ACTIVATIONS = {"relu": "relu", "gelu_tanh": "gelu"}   # CUBLASLT_EPILOGUE_GELU is the approximation by tanh
POINTWISE = {*torch_calls.SAME, *torch_calls.ACTIVATIONS, *torch_calls.WITH_NUMBERS, "where", "maximum", "minimum", "clamp", "pow", "cast"}


class FoundProduct:
    """`problem`: rewritten, with a call of CALL; `what`: the library's part in words; `rest`: PyTorch's."""

    def __init__(self, problem, outer_scales=False):
        graph = Graph(problem)
        products = graph.products()
        if len(products) != 1:
            raise NoOperator(f"cublaslt: the problem is not one matrix product (it has {len(products) or 'none'})")
        self.graph, self.node, self.words = graph, products[0], {}
        a, b = (self.operand(each) for each in operands(self.node))
        self.dtype = self.joined(a, b)
        if all(each.tf32 for each in (a, b)):
            self.words["tf32"] = True
        self.shape = product_shape(a.shape, b.shape)
        top = self.climb(outer_scales and self.dtype in TINY)
        graph.replace(top, made_call(CALL, (a.node, b.node), self.words))
        rest = rest_of(graph, CALL)
        for name, node in rest.items():
            if name.endswith("()") and name[:-2] not in POINTWISE:
                raise refused(f"line {node.lineno}: {name} beside it is not element by element")
        self.problem, self.rest = graph.problem, list(rest)
        words = {"tf32": "in tf32", "alpha": "scale", "rows": "scales of rows and columns", "residual": "residual", "bias": "bias"}
        self.what = ["product" + (" " + words["tf32"] if "tf32" in self.words else "")] + [text for word, text in words.items() if word in self.words and word != "tf32"]
        if "activation" in self.words:
            self.what.append(self.words["activation"])

    # --- operands

    def operand(self, node):
        if isinstance(node, ast.Name) and node.id in self.graph.inputs:
            tensor = self.graph.inputs[node.id]
            return Operand(node, tensor.dtype, axes_of(tensor))
        if isinstance(node, ast.Name) and node.id in self.graph.defined:
            statement = self.graph.defined[node.id]
            found = self.operand(statement.value)
            kept = statement.annotation if isinstance(statement, ast.AnnAssign) else None
            if kept is None or ast.unparse(kept).split("[")[0] == found.dtype:
                return found
            if ast.unparse(kept).split("[")[0] == "tf32" and found.dtype == "f32":
                return Operand(found.node, "f32", found.shape, tf32=True)
        elif is_call(node, *MOVES[:3]) and node.args:
            x = self.operand(node.args[0])
            moved = ast.Call(node.func, [x.node] + node.args[1:], node.keywords)
            return Operand(ast.copy_location(moved, node), x.dtype, x.shape and moved_shape(node, x.shape), x.tf32)
        elif isinstance(node, ast.Subscript) and not any(isinstance(each, ast.Name) and not self.graph.is_number(each) for each in ast.walk(node.slice)):
            x = self.operand(node.value)
            return Operand(ast.copy_location(ast.Subscript(x.node, node.slice, ast.Load()), node), x.dtype, None, x.tf32)
        raise refused(f"line {node.lineno}: its operand {ast.unparse(node)} is computed, not an input")

    def joined(self, a, b):
        if a.dtype in TINY and b.dtype in TINY or a.dtype == b.dtype and a.dtype in (*FLOATS, "i8"):
            return a.dtype
        if a.dtype == b.dtype == "tf32":
            self.words["tf32"] = True
            return "f32"
        raise refused(f"cuBLASLt multiplies no {a.dtype} by {b.dtype}")

    # --- epilogue

    def climb(self, outer_scales):
        """The topmost node that is still the library's."""
        top, scales, words, graph = self.node, {}, self.words, self.graph
        node = top
        while self.dtype != "i8" and (found := graph.use(node)):
            child, node = found
            added = "bias" in words or "residual" in words
            if len(scales) != 1 and is_call(node, *ACTIVATIONS):
                words["activation"] = ACTIVATIONS[node.func.id]
                return node
            if not isinstance(node, ast.BinOp):
                break
            other = node.right if node.left is child else node.left
            if isinstance(node.op, ast.Mult) and outer_scales and not added and (side := self.scale_side(other)) and side not in scales:
                scales[side] = other.value if isinstance(other, ast.Subscript) else other
                if len(scales) == 1:
                    continue   # one vector alone stays in PyTorch
                words.update(scales)
            elif len(scales) == 1:
                break
            elif is_scaling(node, child) and graph.is_number(other) and not added:
                words["alpha"] = ast.BinOp(words.get("alpha", ast.Constant(1.0)), node.op, other)
            elif isinstance(node.op, ast.Add) and (word := self.addend(other)) and word not in words:
                words[word] = other
            else:
                break
            top = node
        return top

    def declared(self, node):
        tensor = self.graph.inputs.get(node.id) if isinstance(node, ast.Name) else None
        return (tensor.dtype, axes_of(tensor)) if tensor else (None, None)

    def scale_side(self, node):
        if self.shape is None or len(self.shape) != 2:
            return None
        if isinstance(node, ast.Subscript):
            dtype, shape = self.declared(node.value)
            return "rows" if dtype == "f32" and shape == self.shape[:1] and ast.unparse(node.slice) in ("(:, None)", ":, None") else None
        return "columns" if self.declared(node) == ("f32", self.shape[1:]) else None

    def addend(self, node):
        dtype, shape = self.declared(node)
        if shape is None or self.shape is None or dtype != ("bf16" if self.dtype in TINY else self.dtype):
            return None
        return "residual" if shape == self.shape and len(shape) > 1 else "bias" if shape == self.shape[-1:] else None


class Operand:
    """`shape`: the axes as written, None where that is not known."""

    def __init__(self, node, dtype, shape, tf32=False):
        self.node, self.dtype, self.shape, self.tf32 = node, dtype, shape, tf32


def refused(why):
    return NoOperator(f"cublaslt: the problem is not one matrix product that the library has ({why})")


def axes_of(tensor):
    return [ast.unparse(each) for each in ast.parse(tensor.shape, mode="eval").body.elts]


def is_scaling(node, child):
    return isinstance(node.op, ast.Mult) or isinstance(node.op, ast.Div) and node.left is child


def moved_shape(node, shape):
    if node.func.id == "transpose":
        return shape[:-2] + [shape[-1], shape[-2]] if len(shape) > 1 else None
    words = node.args[1:] + [each.value for each in node.keywords]
    if len(words) != 1 or not isinstance(words[0], ast.List):
        return None
    if node.func.id == "reshape":
        return [ast.unparse(each) for each in words[0].elts]
    return [shape[each.value] for each in words[0].elts] if all(isinstance(each, ast.Constant) for each in words[0].elts) else None


def product_shape(a, b):
    if a is None or b is None:
        return None
    if len(b) == 1:
        return a[:-1]
    if len(a) == 1:
        return b[:-2] + b[-1:]
    return (a[:-2] if len(a) >= len(b) else b[:-2]) + [a[-2], b[-1]]
