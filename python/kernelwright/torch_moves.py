"""Functions of problem text as calls of PyTorch: products, windows, moves, indices, random numbers."""

import ast

from . import to_torch as base


def chosen_dtype(function, *values):
    """Of what is picked from them: a tensor."""
    dtype = function.joined(*values)
    return {"size": "i64", "real": function.default}.get(dtype, dtype)


# --- products and windows


def product(function, x, y):
    if x.dtype in base.TINY and y.dtype in base.TINY:
        dtype = "bf16" if function.style == "stored" else "f32"
        return base.Value(function.helper("fp8_matmul", f"(_0, _1, torch.{base.TORCH[dtype]})", x.node, y.node), dtype)
    if x.dtype == y.dtype == "i8":
        return base.Value(function.helper("int8_matmul", "(_0, _1)", x.node, y.node), "i32")
    dtype = function.joined(x, y)
    x, y = (each if each.dtype == dtype else function.to(each, dtype) for each in (x, y))
    if function.style == "wide" and dtype in base.NARROW:
        return base.Value(function.helper("matmul_f32", "(_0, _1)", x.node, y.node), "f32")
    return base.Value(base.make("_0 @ _1", x.node, y.node), dtype)


def of_matmul(a):
    return product(a.function, a.value(0), a.value(1))


def convolution(name, words):
    def made(a):
        function, x, y = a.function, a.value(0), a.value(1)
        dtype = function.joined(x, y)
        if dtype not in base.FLOATS or dtype in base.TINY:
            a.refuse(f"PyTorch has no {name} of {dtype}")
        dtype = "f32" if function.style == "wide" and dtype in base.NARROW else dtype
        x, y = (each if each.dtype == dtype else function.to(each, dtype) for each in (x, y))
        given = [(theirs, a.number(2 + i, ours, "")) for i, (ours, theirs) in enumerate(words) if a.find(2 + i, ours) is not None]
        more = "".join(f", {word}=_{2 + i}" for i, (word, _) in enumerate(given))
        return base.Value(function.helper(name, f"(_0, _1{more})", x.node, y.node, *(value for _, value in given)), dtype)
    return made


WINDOW = [("step", "stride"), ("padding", "padding"), ("dilation", "dilation"), ("groups", "groups")]
of_conv, of_conv_transpose = convolution("conv", WINDOW), convolution("conv_transpose", WINDOW + [("output_padding", "output_padding")])


def pool(name, words):
    def made(a):
        x, = a.function.computable(a.value(0)) if name == "avg" else (a.value(0),)
        size = a.number(1, "size", "")
        given = [(theirs, a.number(position, ours, "")) for position, ours, theirs in words if a.find(position, ours) is not None]
        more = "".join(f", {word}=_{2 + i}" for i, (word, _) in enumerate(given))
        more += ", ceil_mode=True" if a.flag("ceil") else ""
        more += ", count_include_pad=False" if name == "avg" and not a.flag("count_padding", True) else ""
        return base.Value(base.make(f"functional.{name}_pool{len(size.elts)}d(_0, _1{more})", x.node, size, *(value for _, value in given)), x.dtype)
    return made


of_max_pool = pool("max", [(2, "step", "stride"), (3, "padding", "padding"), (4, "dilation", "dilation")])
of_avg_pool = pool("avg", [(2, "step", "stride"), (3, "padding", "padding")])


# --- moves and indices


def moved(template, *words):
    def made(a):
        x = a.value(0)
        numbers = [a.number(i + 1, word, otherwise) for i, (word, otherwise) in enumerate(words)]
        return base.Value(base.make(template, x.node, *numbers), chosen_dtype(a.function, x))
    return made


of_transpose, of_permute = moved("_0.mT"), moved("_0.permute(_1)", ("axes", "()"))
of_reshape = moved("_0.reshape(_1)", ("shape", "()"))


def of_flip(a):
    x, axis = a.value(0), a.number(1, "axis", "")
    return base.Value(base.make("torch.flip(_0, _1)", x.node, axis if isinstance(axis, ast.Tuple) else ast.Tuple([axis])), x.dtype)


def device(function):
    """Where what is made anew belongs."""
    inputs = function.problem.inputs
    return base.make(f"{inputs[0].name}.device") if inputs else ast.Constant("cpu")


def of_broadcast(a):
    x, shape = a.value(0), a.number(1, "shape", "")
    if x.is_number:
        dtype = chosen_dtype(a.function, x)
        return base.Value(base.make(f"torch.full(_0, _1, dtype=torch.{base.TORCH[dtype]}, device=_2)", shape, x.node, device(a.function)), dtype)
    return base.Value(base.make("torch.broadcast_to(_0, _1)", x.node, shape), x.dtype)


def of_arange(a):
    numbers = [a.value(i).node for i in range(len(a.node.args))]
    return base.Value(base.make(f"torch.arange({', '.join(f'_{i}' for i in range(len(numbers)))}, device=_{len(numbers)})", *numbers, device(a.function)), "i64")


def of_concat(a):
    parts = [a.value(i) for i in range(len(a.node.args))]
    dtype = a.function.joined(*parts)
    return base.Value(base.make("torch.cat(_0, dim=_1)", ast.Tuple([each.node for each in parts]), a.axis(None)), dtype)


def of_take(a):
    x, index, axis = a.value(0), a.value(1), a.axis(2, "0")
    if ast.unparse(axis) == "0":
        return base.Value(base.make("_0[_1]", x.node, index.node), x.dtype)
    before = ast.literal_eval(axis)
    if before > 0:
        return base.Value(base.make(f"_0[{':, ' * before}_1]", x.node, index.node), x.dtype)
    return base.Value(base.make(f"_0[..., _1{', :' * (-1 - before)}]", x.node, index.node), x.dtype)


def of_gather(a):
    x = a.value(0)
    return base.Value(base.make("torch.take_along_dim(_0, _1.long(), dim=_2)", x.node, a.value(1).node, a.axis(2)), x.dtype)


def scatter(how):
    def made(a):
        x = a.value(0)
        if x.is_number:
            a.refuse("a scatter into a number")
        more = f", {how!r}" if how else ""
        return base.Value(a.function.helper("scattered", f"(_0, _1, _2, _3{more})", x.node, a.value(1).node, a.value(2).node, a.axis(3)), x.dtype)
    return made


of_scatter, of_scatter_add, of_scatter_max, of_scatter_min = scatter(None), scatter("sum"), scatter("amax"), scatter("amin")


def ordered(part):
    def made(a):
        x = a.value(0)
        more = ", descending=True" if a.flag("descending") else ""
        pair = a.function.shared("ordered", f"torch.sort(_0, dim=_1{more}, stable=True)", x.node, a.axis())
        return base.Value(base.make(f"_0.{part}", pair), x.dtype if part == "values" else "i64")
    return made


of_sort, of_argsort = ordered("values"), ordered("indices")


def largest(part):
    def made(a):
        x = a.value(0)
        count, axis, dtype = a.value(1, "k").node, a.axis(2), x.dtype if part == "values" else "i64"
        if a.function.style == "stored":   # which of equal ones come first is not said
            pair = a.function.shared("largest", "torch.topk(_0, _1, dim=_2)", x.node, count, axis)
            return base.Value(base.make(f"_0.{part}", pair), dtype)
        pair = a.function.shared("ordered", "torch.sort(_0, dim=_1, descending=True, stable=True)", x.node, axis)
        return base.Value(base.make(f"torch.narrow(_0.{part}, _1, 0, _2)", pair, axis, count), dtype)
    return made


of_topk, of_topk_index = largest("values"), largest("indices")


def of_bincount(a):
    x, weights = a.value(0), a.find(2, "weights")
    given = [a.function.expression(weights)] if weights is not None else []
    dtype = given[0].dtype if given else x.dtype
    return base.Value(a.function.helper("bincount", f"(_0, _1{', _2' if given else ''})", x.node, a.value(1, "size").node, *(each.node for each in given)), dtype)


def of_histogram(a):
    x, = a.function.computable(a.value(0))
    return base.Value(base.make("torch.histc(_0, bins=_3, min=_1, max=_2)", x.node, *(a.value(i).node for i in range(1, 4))), x.dtype)


def of_pad(a):
    x, axis = a.value(0), a.find(1, "axis")
    axis = ast.Tuple(axis.elts) if isinstance(axis, ast.List) else axis
    given = [(word, a.number(i, word, "")) for i, word in ((2, "before"), (3, "after"), (4, "value")) if a.find(i, word) is not None]
    more = "".join(f", {word}=_{2 + i}" for i, (word, _) in enumerate(given))
    return base.Value(a.function.helper("pad", f"(_0, _1{more})", x.node, axis, *(value for _, value in given)), x.dtype)


def of_windows(a):
    x, axis = a.value(0), a.find(1, "axis")
    axis = ast.Tuple(axis.elts) if isinstance(axis, ast.List) else axis
    numbers = [a.number(2, "size", ""), a.number(3, "step", "1"), a.number(4, "dilation", "1")]
    return base.Value(a.function.helper("windows", "(_0, _1, _2, _3, _4)", x.node, axis, *numbers), x.dtype)


# --- random numbers


def random(name, dtype, count):
    def made(a):
        values = [a.value(i) for i in range(count)]
        nodes = [base.make("torch.full((), _0, device=_1)", each.node, device(a.function)) if each.is_number else each.node for each in values]
        return base.Value(a.function.helper(name, f"({', '.join(f'_{i}' for i in range(count))})", *nodes), dtype or a.function.default)
    return made


of_philox, of_philox4x32 = random("philox", "i64", 3), random("philox4x32", "i64", 2)
of_curand_uniform, of_torch_uniform, of_curand_normal = (random(name, None, 1) for name in ("curand_uniform", "torch_uniform", "curand_normal"))
