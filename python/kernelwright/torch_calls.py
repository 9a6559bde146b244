"""Functions of problem text as calls of PyTorch: element by element and along axes; torch_moves.py has the others."""

import ast

from . import to_torch as base
from . import torch_moves

SAME = "abs sign floor ceil trunc round square exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh " \
       "asinh acosh atanh erf erfc lgamma relu sigmoid".split()
NUMBERS = "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh floor ceil trunc".split()
ACTIVATIONS = {"relu6": "functional.relu6(_0)", "selu": "functional.selu(_0)", "silu": "functional.silu(_0)", "mish": "functional.mish(_0)", "gelu": "functional.gelu(_0)",
               "gelu_tanh": "functional.gelu(_0, approximate='tanh')", "softplus": "-functional.logsigmoid(-_0)", "softsign": "functional.softsign(_0)",
               "hardsigmoid": "functional.hardsigmoid(_0)", "hardswish": "functional.hardswish(_0)"}
WITH_NUMBERS = {"leaky_relu": ("slope", "functional.leaky_relu(_0, _1)", "0.01"), "elu": ("alpha", "functional.elu(_0, _1)", "1"),
                "celu": ("alpha", "functional.celu(_0, _1)", "1"), "hardtanh": ("low high", "functional.hardtanh(_0, _1, _2)", "-1", "1")}
REDUCTIONS = {"sum": "torch.sum", "mean": "torch.mean", "max": "torch.amax", "min": "torch.amin", "any": "torch.any", "all": "torch.all"}


def call(function, node):
    name = node.func.id
    arguments = Arguments(function, node)
    if name in SAME or name in ACTIVATIONS:
        return pointwise(arguments, name)
    if name in WITH_NUMBERS:
        words, template, *otherwise = WITH_NUMBERS[name]
        x, = function.computable(arguments.value(0))
        numbers = [arguments.number(i + 1, word, text) for i, (word, text) in enumerate(zip(words.split(), otherwise))]
        return base.Value(base.make(template, x.node, *numbers), x.dtype)
    handler = globals().get("of_" + name) or getattr(torch_moves, "of_" + name, None)
    if handler is None:
        raise base.Untranslatable(node, f"no PyTorch is known for {name}()")
    return handler(arguments)


class Arguments:
    """By position, else by keyword, as the signatures of problem text say."""

    def __init__(self, function, node):
        self.function, self.node = function, node
        self.named = {each.arg: each.value for each in node.keywords}

    def find(self, position, word=None):
        return self.node.args[position] if position is not None and position < len(self.node.args) else self.named.get(word)

    def value(self, position, word=None):
        return self.function.expression(self.find(position, word))

    def number(self, position, word, otherwise):
        """A number or a list of them, as a node."""
        found = self.find(position, word)
        if found is None:
            return ast.parse(otherwise, mode="eval").body
        return self.function.number_list(found) if isinstance(found, ast.List) else self.function.expression(found).node

    def axis(self, position=1, otherwise="-1"):
        found = self.find(position, "axis")
        if isinstance(found, ast.List) and len(found.elts) == 1:
            found = found.elts[0]
        return ast.parse(otherwise, mode="eval").body if found is None else found

    def flag(self, word, otherwise=False):
        found = self.named.get(word)
        return otherwise if found is None else found.id == "true"

    def refuse(self, message):
        raise base.Untranslatable(self.node, message)


def pointwise(arguments, name):
    x = arguments.value(0)
    if x.is_number:
        if name not in NUMBERS:
            arguments.refuse(f"no Python is known for {name}() of a number")
        return base.Value(base.make(f"math.{name}(_0)", x.node), "real")
    function = arguments.function
    if name in ("abs", "floor", "ceil", "trunc", "round", "sign") and x.dtype in base.NARROW:
        return base.Value(base.make(f"torch.{name}(_0)", x.node), x.dtype)   # exact in any style
    x, = function.computable(x)
    dtype = x.dtype if x.dtype in base.FLOATS or name in ("abs", "sign", "square", "relu") else function.default
    return base.Value(base.make(ACTIVATIONS.get(name, f"torch.{name}(_0)"), x.node), dtype)


# --- two tensors and more


def of_where(a):
    condition, yes, no = (a.value(i) for i in range(3))
    return base.Value(base.make("torch.where(_0, _1, _2)", condition.node, yes.node, no.node), torch_moves.chosen_dtype(a.function, yes, no))


def extreme(a, name, bound):
    left, right = a.function.computable(a.value(0), a.value(1))
    if right.is_number or left.is_number:
        x, limit = (left, right) if right.is_number else (right, left)
        return base.Value(base.make(f"torch.clamp(_0, {bound}=_1)", x.node, limit.node), a.function.joined(left, right))
    return base.Value(base.make(f"torch.{name}(_0, _1)", left.node, right.node), a.function.joined(left, right))


def of_maximum(a):
    return extreme(a, "maximum", "min")


def of_minimum(a):
    return extreme(a, "minimum", "max")


def of_clamp(a):
    x, low, high = a.function.computable(*(a.value(i) for i in range(3)))
    return base.Value(base.make("torch.clamp(_0, _1, _2)", x.node, low.node, high.node), x.dtype)


def both(template):
    def made(a):
        x, y = a.function.computable(a.value(0), a.value(1))
        return base.Value(base.make(template, x.node, y.node), a.function.joined(x, y))
    return made


of_pow, of_atan2, of_hypot = both("_0 ** _1"), both("torch.atan2(_0, _1)"), both("torch.hypot(_0, _1)")


def condition(template):
    return lambda a: base.Value(base.make(template, a.function.computable(a.value(0))[0].node), "bool")


of_isnan, of_isfinite = condition("torch.isnan(_0)"), condition("torch.isfinite(_0)")


def of_cast(a):
    function, x, dtype = a.function, a.value(0), a.find(1, "dtype").id
    rounding = a.named.get("rounding")
    if "bits" in a.named or (rounding is not None and rounding.value != "even"):
        a.refuse("PyTorch rounds to nearest even only")
    if dtype not in base.TORCH or dtype == "tf32":
        a.refuse(f"PyTorch does not round to {dtype}")
    node = x.node
    if a.flag("saturate") and dtype == "e4m3":
        node = base.make("torch.clamp(_0, -448, 448)", function.computable(x)[0].node)
    elif a.flag("saturate") and dtype in base.FLOATS:
        node = base.make(f"torch.clamp(_0, -torch.finfo(torch.{base.TORCH[dtype]}).max, torch.finfo(torch.{base.TORCH[dtype]}).max)", node)
    node = base.make(f"_0.to(torch.{base.TORCH[dtype]})", node)
    if function.style == "reference" and dtype in base.FLOATS:
        return base.Value(base.make("_0.double()", node), "f64")
    return base.Value(node, dtype)


# --- along axes


def reduction(name):
    def made(a):
        function, x = a.function, a.value(0)
        keep = "keepdim=True" if a.flag("keepdims") else ""
        axis, dtype, more = a.find(1, "axis"), x.dtype, ""
        if isinstance(axis, ast.List):
            axis = ast.Tuple(axis.elts)
        if name in ("max", "min") and isinstance(axis, (ast.Constant, ast.UnaryOp)) and has_index(a, "arg" + name):
            pair = function.shared("extreme", f"torch.{name}(_0, dim=_1{', ' + keep if keep else ''})", x.node, axis)
            return base.Value(base.make("_0.values", pair), dtype)
        if name in ("sum", "mean"):
            if function.style == "wide" and dtype in base.NARROW:
                dtype, more = "f32", "dtype=torch.float32"
            elif dtype in base.TINY:
                x, = function.computable(x)
                dtype = x.dtype
            elif name == "mean" and dtype not in base.FLOATS:
                x = function.to(x, function.default)
                dtype = x.dtype
            elif dtype not in base.FLOATS:
                dtype = "i64"
        elif dtype in base.TINY:
            x, = function.computable(x)
            dtype = x.dtype
        if axis is None and keep:
            axis = base.make("tuple(range(_0.ndim))", x.node)
        parts = ["_0"] + (["dim=_1"] if axis is not None else []) + [part for part in (keep, more) if part]
        return base.Value(base.make(f"{REDUCTIONS[name]}({', '.join(parts)})", x.node, axis), dtype)
    return made


of_sum, of_mean, of_max, of_min, of_any, of_all = (reduction(name) for name in REDUCTIONS)


def has_index(a, name):
    """Whether the text also asks for the place of this extreme: one call of PyTorch gives both."""
    alike = [ast.unparse(each) for each in a.node.args + sorted((k.value for k in a.node.keywords), key=ast.unparse)]
    return any(isinstance(each.func, ast.Name) and each.func.id == name and
               [ast.unparse(part) for part in each.args + sorted((k.value for k in each.keywords), key=ast.unparse)] == alike
               for each in a.function.calls)


def place(name):
    def made(a):
        x, axis = a.value(0), a.find(1, "axis")
        keep = ", keepdim=True" if a.flag("keepdims") else ""
        if axis is None:
            return base.Value(base.make(f"torch.arg{name}(_0)", x.node), "i64")
        if has_index(a, name):
            return base.Value(base.make("_0.indices", a.function.shared("extreme", f"torch.{name}(_0, dim=_1{keep})", x.node, axis)), "i64")
        return base.Value(base.make(f"torch.arg{name}(_0, dim=_1{keep})", x.node, axis), "i64")
    return made


of_argmax, of_argmin = place("max"), place("min")


def of_var(a):
    x, = a.function.computable(a.value(0))
    axis = a.find(1, "axis")
    axis = ast.Tuple(axis.elts) if isinstance(axis, ast.List) else axis or ast.Constant(None)
    keep = ", keepdim=True" if a.flag("keepdims") else ""
    return base.Value(base.make(f"torch.var(_0, dim=_1, correction=_2{keep})", x.node, axis, a.number(2, "correction", "0")), x.dtype)


def of_prod(a):
    x, = a.function.computable(a.value(0))
    if a.find(1, "axis") is None:
        return base.Value(base.make("torch.prod(_0)", x.node), x.dtype)
    keep = ", keepdim=True" if a.flag("keepdims") else ""
    return base.Value(base.make(f"torch.prod(_0, dim=_1{keep})", x.node, a.axis()), x.dtype)


def softmax_like(name):
    def made(a):
        x = a.value(0)
        if a.function.style == "wide" and x.dtype in base.NARROW:
            return base.Value(base.make(f"torch.{name}(_0, dim=_1, dtype=torch.float32)", x.node, a.axis()), "f32")
        x, = a.function.computable(x)
        return base.Value(base.make(f"torch.{name}(_0, dim=_1)", x.node, a.axis()), x.dtype)
    return made


of_softmax, of_log_softmax = softmax_like("softmax"), softmax_like("log_softmax")


def of_logsumexp(a):
    x, = a.function.computable(a.value(0))
    keep = ", keepdim=True" if a.flag("keepdims") else ""
    return base.Value(base.make(f"torch.logsumexp(_0, dim=_1{keep})", x.node, a.axis()), x.dtype)


def running(name, template):
    def made(a):
        x, = a.function.computable(a.value(0))
        node = base.make(template, x.node, a.axis())
        if a.flag("reverse"):
            function = template.replace("_0", "x").replace("_1", "axis")
            node = a.function.helper("reversed_scan", f"(lambda x, axis: {function}, _0, _1)", x.node, a.axis())
        return base.Value(node, x.dtype if x.dtype in base.FLOATS else "i64")
    return made


of_cumsum, of_cumprod = running("cumsum", "torch.cumsum(_0, _1)"), running("cumprod", "torch.cumprod(_0, _1)")
of_cummax, of_cummin = running("cummax", "torch.cummax(_0, _1).values"), running("cummin", "torch.cummin(_0, _1).values")
of_logcumsumexp = running("logcumsumexp", "torch.logcumsumexp(_0, _1)")


def of_scan(a):
    function = a.function
    x, y = function.computable(a.value(0), a.value(1))
    initial = a.find(3, "initial")
    more = f", initial=_3{', reverse=True' if a.flag('reverse') else ''}" if initial is not None else ", reverse=True" if a.flag("reverse") else ""
    start = [function.expression(initial).node] if initial is not None else []
    return base.Value(function.helper("linear_scan", f"(_0, _1, _2{more})", x.node, y.node, a.axis(2), *start), function.joined(x, y))
