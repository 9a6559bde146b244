"""Rules: reductions, scans, the softmax family, losses."""

from .operators import Value, axes_list, axis_of, operand, real, rule
from .sizes import Untold, make, product, text


def axis_text(axes):
    return f"axis={axes[0]}" if len(axes) == 1 else f"axis=[{', '.join(map(str, axes))}]"


def reduced(name, value, axes, keepdim):
    """name(x, axis=…, keepdims=…) with what is default left out."""
    if value.rank == 0:
        return str(value)
    axes = axes_list(axes, value.rank)
    where = "" if len(axes) == value.rank else f", {axis_text(axes)}"
    return f"{name}({value}{where}{', keepdims=true' if keepdim else ''})"


def count(value, axes):
    return product([value.shape[axis] for axis in axes_list(axes, value.rank)])


def numeric(e, value):
    return e.let(real(value), value.shape, "i32") if value.dtype == "bool" else value


@rule("sum")
def total(e, a):
    return reduced("sum", numeric(e, a.self), a.get("dim"), a.get("keepdim"))


@rule("mean")
def mean(e, a):
    return reduced("mean", a.self, a.get("dim"), a.get("keepdim"))


@rule("prod")
def prod(e, a):
    return reduced("prod", a.self, a.get("dim"), a.get("keepdim"))


@rule("amax")
def amax(e, a):
    return reduced("max", a.self, a.dim, a.keepdim)


@rule("amin")
def amin(e, a):
    return reduced("min", a.self, a.dim, a.keepdim)


def extreme(name):
    def make_extreme(e, a):
        if isinstance(a.get("other"), Value):
            return f"{name}imum({a.self}, {a.other})"
        if a.get("dim") is None:
            return reduced(name, a.self, None, False)
        return [reduced(name, a.self, a.dim, a.keepdim), reduced("arg" + name, a.self, a.dim, a.keepdim)]
    return make_extreme


rule("max")(extreme("max"))
rule("min")(extreme("min"))


def position(name):
    def make_position(e, a):
        if a.dim is not None:
            return reduced(name, a.self, a.dim, a.keepdim)
        if a.self.rank == 1:
            return reduced(name, a.self, None, False)
        flat = e.let(f"reshape({a.self}, [{text(product(a.self.shape))}])", [product(a.self.shape)], a.self.dtype)
        return f"{name}({flat})"
    return make_position


rule("argmax")(position("argmax"))
rule("argmin")(position("argmin"))


@rule("any")
def any_(e, a):
    return reduced("any", e.let_condition(a.self), a.get("dim"), a.get("keepdim"))


@rule("all")
def all_(e, a):
    return reduced("all", e.let_condition(a.self), a.get("dim"), a.get("keepdim"))


def variance(a):
    correction = a.get("correction", 1 if a.get("unbiased", True) else 0)
    correction = 1 if correction is None else correction
    found = reduced("var", a.self, a.get("dim"), a.get("keepdim"))
    if correction == 0:
        return found
    n = count(a.self, a.get("dim"))
    return f"{found} * {operand(n)} / {operand(make('-', n, int(correction)))}"


@rule("var")
def var(e, a):
    return variance(a)


@rule("std")
def std(e, a):
    return f"sqrt({variance(a)})"


@rule("var_mean")
def var_mean(e, a):
    return [variance(a), reduced("mean", a.self, a.get("dim"), a.get("keepdim"))]


@rule("linalg_vector_norm", "norm", "frobenius_norm", "linalg_norm", "linalg_matrix_norm")
def norm(e, a):
    order = a.get("ord", a.get("p", 2))
    order = 2 if order is None or order == "fro" else order
    x, axes, keep = e.input(a), a.get("dim"), a.get("keepdim")
    if order == 2:
        return f"sqrt({reduced('sum', e.let(f'square({x})', x.shape, x.dtype), axes, keep)})"
    magnitude = e.let(f"abs({x})", x.shape, x.dtype)
    if order == 1:
        return reduced("sum", magnitude, axes, keep)
    if order in (float("inf"), float("-inf")):
        return reduced("max" if order > 0 else "min", magnitude, axes, keep)
    raised = e.let(f"pow({magnitude}, {operand(order)})", x.shape, x.dtype)
    return f"pow({reduced('sum', raised, axes, keep)}, {1 / order})"


def along(name):
    return lambda e, a: f"{name}({a.self}, axis={axis_of(a.dim, a.self.rank)})"


rule("softmax", "_softmax")(along("softmax"))
rule("log_softmax", "_log_softmax")(along("log_softmax"))
for _name in ("cumsum", "cumprod", "logcumsumexp"):
    rule(_name)(along(_name))


@rule("logsumexp")
def logsumexp(e, a):
    axes = axes_list(a.dim, a.self.rank)
    if len(axes) == 1:
        return reduced("logsumexp", a.self, axes, a.keepdim)
    top = e.let(reduced("max", a.self, axes, True), [1 if i in axes else s for i, s in enumerate(a.self.shape)], a.self.dtype)
    return f"log({reduced('sum', e.let(f'exp({a.self} - {top})', a.self.shape, a.self.dtype), axes, a.keepdim)}) + {reduced('max', a.self, axes, a.keepdim)}"


# Losses. reduction: 0 none, 1 mean, 2 sum.

def lost(e, expression, shape, reduction):
    loss = e.let(expression, shape, "f32", "loss")
    return loss if reduction == 0 else f"{'mean' if reduction == 1 else 'sum'}({loss})"


@rule("mse_loss")
def mse_loss(e, a):
    return lost(e, f"square({a.self} - {a.target})", a.self.shape, a.reduction)


@rule("l1_loss")
def l1_loss(e, a):
    return lost(e, f"abs({a.self} - {a.target})", a.self.shape, a.reduction)


@rule("smooth_l1_loss", "huber_loss")
def smooth_l1(e, a):
    off = e.let(f"abs({a.self} - {a.target})", a.self.shape, "f32")
    if a.get("delta") is not None:
        d = float(a.delta)
        return lost(e, f"where({off} < {d}, 0.5 * {off} * {off}, {d} * ({off} - {0.5 * d}))", a.self.shape, a.reduction)
    b = float(a.beta)
    return lost(e, f"where({off} < {b}, {0.5 / b} * {off} * {off}, {off} - {0.5 * b})", a.self.shape, a.reduction)


@rule("kl_div")
def kl_div(e, a):
    if a.log_target:
        return lost(e, f"exp({a.target}) * ({a.target} - {a.self})", a.self.shape, a.reduction)
    safe = e.let(f"where({a.target} > 0, {a.target}, 1.0)", a.target.shape, "f32")
    return lost(e, f"{a.target} * (log({safe}) - {a.self})", a.self.shape, a.reduction)


@rule("cross_entropy_loss", "nll_loss", "nll_loss_nd")
def cross_entropy(e, a):
    if a.get("weight") is not None or a.get("label_smoothing", 0.0) or a.self.rank != 2 or a.target.rank != 1:
        raise Untold("cross entropy with weights, smoothing or more than two axes")
    scores = a.self
    if a.get("label_smoothing") is not None:  # nll_loss takes logarithms
        scores = e.let(f"log_softmax({scores}, axis=1)", scores.shape, "f32", "logs")
    n, c = scores.shape
    hit = e.let(f"arange({text(c)}) == {a.target}[:, None]", [n, c], "bool", "hit")   # ignore_index lies outside
    return lost(e, f"-sum(where({hit}, {scores}, 0.0), axis=1)", [n], a.reduction)


@rule("cosine_similarity")
def cosine_similarity(e, a):
    axis = axis_of(a.dim, a.x1.rank)
    eps2 = float(a.eps) ** 2
    squares = [f"maximum(sum(square({x}), axis={axis}), {eps2})" for x in (a.x1, a.x2)]
    return f"sum({a.x1} * {a.x2}, axis={axis}) / sqrt({squares[0]} * {squares[1]})"


@rule("pairwise_distance")
def pairwise_distance(e, a):
    if a.p != 2:
        raise Untold(f"pairwise_distance with p = {a.p}")
    return f"sqrt(sum(square({a.x1} - {a.x2} + {float(a.eps)}), axis=-1{', keepdims=true' if a.keepdim else ''}))"


@rule("triplet_margin_loss")
def triplet_margin_loss(e, a):
    if a.p != 2 or a.swap:
        raise Untold("triplet loss with another norm or with swap")
    far = [f"sqrt(sum(square({a.anchor} - {other} + {float(a.eps)}), axis=-1))" for other in (a.positive, a.negative)]
    return lost(e, f"maximum({float(a.margin)} + {far[0]} - {far[1]}, 0.0)", a.anchor.shape[:-1], a.reduction)


@rule("binary_cross_entropy_with_logits")
def bce_with_logits(e, a):
    if a.weight is not None or a.pos_weight is not None:
        raise Untold("weights")
    return lost(e, f"softplus({a.self}) - {a.self} * {a.target}", a.self.shape, a.reduction)
