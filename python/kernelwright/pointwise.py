"""Rules: operators on elements."""

import math

from .operators import RULES, Value, operand, real, rule
from .sizes import Untold, is_number, number_text, text

SAME_NAME = """abs sign floor ceil trunc round square exp exp2 expm1 log log2 log10 log1p sqrt rsqrt tanh erf erfc sin cos tan asin acos atan
sinh cosh asinh acosh atanh lgamma relu sigmoid silu selu mish relu6 softsign hardswish hardsigmoid isnan isfinite"""

for _name in SAME_NAME.split():
    RULES[_name] = lambda e, a, name=_name: f"{name}({e.input(a)})"


@rule("neg")
def negative(e, a):
    return f"-{e.input(a)}"


@rule("reciprocal")
def reciprocal(e, a):
    return f"1.0 / {e.input(a)}"


@rule("gelu")
def gelu(e, a):
    return f"{'gelu_tanh' if a.approximate == 'tanh' else 'gelu'}({a.self})"


@rule("log_sigmoid")
def log_sigmoid(e, a):
    return f"-softplus(-{a.self})"


@rule("softplus")
def softplus(e, a):
    if a.beta == 1 and a.threshold == 20:
        return f"softplus({a.self})"
    beta = operand(a.beta)
    return f"where({beta} * {a.self} > {operand(a.threshold)}, {a.self}, softplus({beta} * {a.self}) / {beta})"


@rule("leaky_relu")
def leaky_relu(e, a):
    return f"leaky_relu({a.self}, {number_text(float(a.negative_slope))})"


@rule("elu")
def elu(e, a):
    alpha, scale, inner = float(a.alpha), float(a.scale), float(a.input_scale)
    if (scale, inner) == (1.0, 1.0):
        return f"elu({a.self})" if alpha == 1 else f"elu({a.self}, {number_text(alpha)})"
    return f"{number_text(scale)} * where({a.self} > 0, {a.self}, {number_text(alpha)} * expm1({number_text(inner)} * {a.self}))"


@rule("celu")
def celu(e, a):
    return f"celu({a.self}, {number_text(float(a.alpha))})"


@rule("prelu")
def prelu(e, a):
    weight = str(a.weight)
    if a.weight.shape != [1] and a.self.rank > 2:
        weight = f"{weight}[{', '.join([':'] + ['None'] * (a.self.rank - 2))}]"
    return f"where({a.self} > 0, {a.self}, {weight} * {a.self})"


@rule("hardtanh")
def hardtanh(e, a):
    return f"hardtanh({a.self})" if (a.min_val, a.max_val) == (-1, 1) else f"hardtanh({a.self}, {plain(a.min_val)}, {plain(a.max_val)})"


@rule("threshold")
def threshold(e, a):
    return f"where({a.self} > {operand(a.threshold)}, {a.self}, {operand(a.value)})"


@rule("hardshrink")
def hardshrink(e, a):
    return f"where(abs({a.self}) > {operand(a.lambd)}, {a.self}, 0.0)"


@rule("softshrink")
def softshrink(e, a):
    return f"sign({a.self}) * maximum(abs({a.self}) - {operand(a.lambd)}, 0.0)"


def plain(value):
    """As the argument of a function: no brackets needed."""
    return value.text if isinstance(value, Value) else text(value)


@rule("clamp", "clip")
def clamp(e, a):
    if a.min is not None and a.max is not None:
        return f"clamp({a.self}, {plain(a.min)}, {plain(a.max)})"
    return f"maximum({a.self}, {plain(a.min)})" if a.min is not None else f"minimum({a.self}, {plain(a.max)})"


@rule("clamp_min")
def clamp_min(e, a):
    return f"maximum({a.self}, {plain(a.min)})"


@rule("clamp_max")
def clamp_max(e, a):
    return f"minimum({a.self}, {plain(a.max)})"


def scaled(value, alpha):
    return real(value) if alpha in (None, 1) else f"{operand(alpha)} * {real(value)}"


@rule("add")
def add(e, a):
    return f"{real(a.self)} + {scaled(a.other, a.get('alpha'))}"


@rule("sub", "subtract")
def subtract(e, a):
    return f"{real(a.self)} - {scaled(a.other, a.get('alpha'))}"


@rule("rsub")
def rsub(e, a):
    return f"{real(a.other)} - {scaled(a.self, a.get('alpha'))}"


@rule("mul", "multiply")
def multiply(e, a):
    return f"{real(a.self)} * {real(a.other)}"


@rule("div", "true_divide", "divide")
def divide(e, a):
    if a.get("rounding_mode") == "floor":
        return f"{real(a.self)} // {real(a.other)}"
    if a.get("rounding_mode") == "trunc":
        return f"trunc({real(a.self)} / {real(a.other)})"
    return f"{real(a.self)} / {real(a.other)}"


@rule("floor_divide")
def floor_divide(e, a):
    return f"{real(a.self)} // {real(a.other)}"


@rule("remainder")
def remainder(e, a):
    return f"{real(a.self)} % {real(a.other)}"


@rule("pow")
def power(e, a):
    if isinstance(a.self, Value) and a.exponent == 2:
        return f"square({a.self})"
    if isinstance(a.self, Value) and a.exponent == 3:
        return f"{a.self} * {a.self} * {a.self}"
    if isinstance(a.self, Value) and a.exponent == 0.5:
        return f"sqrt({a.self})"
    return f"pow({operand(a.self)}, {operand(a.exponent)})"


@rule("addcmul")
def addcmul(e, a):
    return f"{a.self} + {scaled(a.tensor1, a.value)} * {a.tensor2}"


@rule("addcdiv")
def addcdiv(e, a):
    return f"{a.self} + {scaled(a.tensor1, a.value)} / {a.tensor2}"


@rule("lerp")
def lerp(e, a):
    return f"{a.self} + {operand(a.weight)} * ({a.end} - {a.self})"


@rule("atan2")
def atan2(e, a):
    return f"atan2({operand(a.self)}, {operand(a.other)})"


@rule("maximum")
def maximum(e, a):
    return f"maximum({operand(a.self)}, {operand(a.other)})"


@rule("minimum")
def minimum(e, a):
    return f"minimum({operand(a.self)}, {operand(a.other)})"


@rule("where")
def where(e, a):
    return f"where({e.condition(a.condition)}, {operand(a.self)}, {operand(a.other)})"


@rule("masked_fill")
def masked_fill(e, a):
    return f"where({e.condition(a.mask)}, {number_text(float(a.value)) if is_number(a.value) else operand(a.value)}, {a.self})"


for _name, _sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "equal": "=="}.items():
    RULES[_name] = lambda e, a, sign=_sign: f"{operand(a.self)} {sign} {operand(a.other)}"


@rule("logical_not", "bitwise_not")
def logical_not(e, a):
    if a.self.dtype != "bool":
        raise Untold("bitwise_not of integers")
    return f"not {a.self}"


@rule("logical_and", "bitwise_and")
def logical_and(e, a):
    return f"{e.condition(a.self)} and {e.condition(a.other)}"


@rule("logical_or", "bitwise_or")
def logical_or(e, a):
    return f"{e.condition(a.self)} or {e.condition(a.other)}"


@rule("logical_xor", "bitwise_xor")
def logical_xor(e, a):
    return f"({e.condition(a.self)}) != ({e.condition(a.other)})"


@rule("detach", "alias", "clone", "contiguous", "lift_fresh", "lift_fresh_copy", "detach_")
def same(e, a):
    return e.input(a)


@rule("to", "_to_copy", "type_as", "float", "half", "bfloat16", "double")
def cast(e, a):
    source, wanted = e.input(a), e.dtype
    if source.dtype == wanted or (source.real and wanted in ("f32", "f64")):
        return source      # the reference is exact: only the text's own casts round
    return f"cast({source}, {wanted})"


@rule("dropout", "feature_dropout", "alpha_dropout", "dropout_", "native_dropout")
def dropout(e, a):
    if a.get("train", a.get("training")) and a.p > 0:
        raise Untold("dropout in training mode is random")
    return a.input


@rule("frac")
def fraction(e, a):
    return f"{a.self} - trunc({a.self})"


@rule("deg2rad")
def radians(e, a):
    return f"{a.self} * {math.pi / 180}"
