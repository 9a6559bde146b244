"""Families of operators and functions of elements."""
from .family import EXACT, case, family


@family("arithmetic", 220, EXACT + ": one IEEE rounding each")
def _(r):
    a, b = r.broadcast_shapes(2, least_size=0)
    op = r.choice("+-*/")
    inputs = {"x": r.real(a) if r.random() < 0.8 else r.narrow(a), "y": r.real(b)}
    text = r.choice([f"x {op} y"] * 4 + [f"x {op} {r.choice([2, 3, 0.1, 1e-3, 'inf'])}",
                                         f"{r.choice([1, 3, 0.7])} {op} x", f"-x {op} -y"])
    return case(text, inputs)


@family("arithmetic of integers", 160, EXACT + "; // and % round down")
def _(r):
    a, b = r.broadcast_shapes(2, least_size=0)
    op = r.choice(["+", "-", "*", "//", "//", "%", "%", "/"])
    low, high = (-2**26, 2**26) if r.random() < 0.3 else (-9, 9)
    inputs = {"i": r.integer(a, low, high), "j": r.integer(b, low, high, but=0 if op in ("//", "%", "/") else None)}
    text = r.choice([f"i {op} j"] * 4 + [f"i {op} {r.choice(['2', '3', '7', '-3'])}", f"i {op} -j"])
    return case(text, inputs)


@family("// and % of reals", 140, EXACT + ": the remainder of two doubles is a double, however large the quotient")
def _(r):
    a, b = r.broadcast_shapes(2)
    style = r.choice(["decimal", "limits", "halves", "wide", "whole"])
    text = r.choice(["x % y", "x % y", "x // y", "x // y", "x % 0.1", "x // 0.1", "x % -3", "7 % x", "x // 2",
                     "-x // y", "-x % y"])
    inputs = {"x": r.real(a, style), "y": r.real(b, style)}
    return case(text, inputs)


@family("comparisons", 120, EXACT)
def _(r):
    a, b = r.broadcast_shapes(2, least_size=0)
    op = r.choice(["==", "!=", "<", "<=", ">", ">="])
    if r.random() < 0.3:
        return case(f"i {op} j", {"i": r.integer(a, -2, 2), "j": r.integer(b, -2, 2)})
    return case(f"x {op} y", {"x": r.real(a, "special", "whole", "decimal"), "y": r.real(b, "special", "whole")})


@family("conditions", 100, EXACT)
def _(r):
    a, b, c = r.broadcast_shapes(3)
    text = r.choice(["a and b or c", "a or b and not c", "not a or not (b and c)", "(a or b) and c", "not a and b", "a == b",
                     "a != c", "not (a or b) == c", "where(a, b, c)", "where(a and not b, not c, c)",
                     "x > 0 and a or x < 1", "not x == 0 and a"])
    inputs = {"a": r.boolean(a), "b": r.boolean(b), "c": r.boolean(c), "x": r.real(a, "special", "whole")}
    return case(text, inputs)


def formula(r, depth=0):
    """Random arithmetic whose every step is one rounding. Divisors are operands: the sign of a computed zero is open."""
    def operand(divisor=False):
        form = r.random()
        if form < 0.2:
            return r.choice(["2", "3", "0.5", "1.25", "7"])
        if form < 0.35:
            return "-" + r.choice("xyz")
        if form < 0.55 and depth < 3 and not divisor:
            return "(" + formula(r, depth + 1) + ")"
        if divisor:
            return r.choice("xyz")
        if form < 0.65 and depth < 3:
            return f"{r.choice(['maximum', 'minimum'])}({formula(r, depth + 1)}, {r.choice('xyz')})"
        if form < 0.75 and depth < 3:
            return f"{r.choice(['abs', 'floor', 'ceil', 'square', 'trunc'])}({formula(r, depth + 1)})"
        if form < 0.8 and depth < 3:
            condition = f"{formula(r, depth + 1)} {r.choice(['<', '>=', '=='])} {r.choice('xyz')}"
            return f"where({condition}, {r.choice('xyz')}, {formula(r, depth + 1)})"
        return r.choice("xyz")
    text = r.choice("xyz")
    for _ in range(r.randint(1, 4)):
        op = r.choice(["+", "-", "*", "/", "+", "-", "*", "//", "%"])
        text += f" {op} {operand(op in ('/', '//', '%'))}"
    return text


@family("formulas", 220, EXACT + ", zeros of either sign: precedence, brackets and signs over one-rounding steps")
def _(r):
    shapes = r.broadcast_shapes(3, most_rank=3, most=12)
    style = r.choice(["decimal", "halves", "whole"])
    text = formula(r)
    inputs = {name: r.real(shape, style) for name, shape in zip("xyz", shapes)}
    return case(text, inputs, 0)


@family("powers of whole numbers", 40, EXACT + ": ** binds to the right and tighter than a sign")
def _(r):
    shape = r.shape(most_rank=2, most=8)
    text = r.choice(["-i ** 2", "i ** 2 * 3", "2 ** i ** 2", "2 ** -i", "(-i) ** 3", "i ** 2 ** 0", "-2 ** i",
                     "i ** 3 - i ** 2", "2 ** 3 ** 2 * i"])
    return case(text, {"i": r.integer(shape, -4, 4)})


@family("exact functions", 200, EXACT)
def _(r):
    name = r.choice(["abs", "sign", "floor", "ceil", "trunc", "round", "isnan", "isfinite", "square", "relu", "-"])
    shape = r.shape(least_size=0)
    if name in ("abs", "sign", "-", "square", "floor", "relu") and r.random() < 0.25:
        return case(f"{name}(i)", {"i": r.integer(shape)})
    x = r.real(shape, *(["halves"] if name == "sign" else ["special", "halves", "decimal", "wide"]))
    return case(f"{name}(x)", {"x": x}, 0 if name == "relu" else None)


@family("choices", 140, EXACT + ", zeros of either sign; minimum, maximum and clamp pass on nan")
def _(r):
    a, b, c = r.broadcast_shapes(3, least_size=0)
    text = r.choice(["minimum(x, y)", "maximum(x, y)", "clamp(x, y, z)", "clamp(x, -1, 1.5)", "where(b, x, y)",
                     "where(b, x, 0)", "where(x > y, z, -inf)", "maximum(i, j)", "minimum(i, x)", "where(b, i, j)", "where(b, i, x)", "clamp(i, -2, 3)"])
    inputs = {"x": r.real(a), "y": r.real(b), "z": r.real(c), "b": r.boolean(c), "i": r.integer(a), "j": r.integer(b)}
    return case(text, inputs, 0)


LIBM = {"exp": (-30, 30), "exp2": (-40, 40), "expm1": (-30, 30), "log": None, "log2": None, "log1p": None, "tanh": (-8, 8),
        "erf": (-5, 5), "sin": (-100, 100), "cos": (-100, 100)}


@family("roots", 60, "1 ulp: ours is correctly rounded, PyTorch's vectorised one is within one ulp; rsqrt rounds twice")
def _(r):
    name = r.choice(["sqrt", "rsqrt"])
    x = r.real(r.shape(least_size=0), "positive", "special", "huge", "wide")
    return case(f"{name}(x)", {"x": x}, 1 if name == "sqrt" else 2)


@family("functions of libm", 280, "2 ulp, one for each side; tanh 3, since glibc's is within two")
def _(r):
    name = r.choice(list(LIBM))
    shape = r.shape(least_size=0)
    if LIBM[name] is None:
        x = r.real(shape, "positive", "special", "huge" if name != "log1p" else "positive", "near one", high=40.0)
    else:
        low, high = LIBM[name]
        x = r.real(shape, "decimal", "special", "near one", "wide" if name not in ("sin", "cos") else "decimal", low=low, high=high)
    return case(f"{name}(x)", {"x": x}, 3 if name == "tanh" else 2)


@family("powers", 80, "2 ulp, one for each side")
def _(r):
    a, b = r.broadcast_shapes(2)
    text = r.choice(["x ** y", "pow(x, y)", "x ** 2", "x ** 0.5", "x ** -1", "2 ** y", "pow(x, 3)"])
    inputs = {"x": r.real(a, "positive", "special", "near one"), "y": r.real(b, "halves", "special", "decimal", low=-3, high=3)}
    return case(text, inputs, 2)


ACTIVATIONS = {
    "sigmoid": "4 * eps * out + 1e-308",  # exp, a sum, a quotient on each side; beyond exp's range one side may be 0
    "silu": "5 * eps * abs(out) + 1e-305",
    "softplus": "5 * eps * out + 1e-308",
    "gelu": "eps * (2.5 * abs(x) + 2 * abs(out))",       # 1 + erf cancels: absolute in x
    "gelu_tanh": "eps * (4 * abs(x) + 2 * abs(out))",  # the same; tanh' z is below 0.45
}


@family("activations", 160, "the roundings of the defining formula, on both sides")
def _(r):
    name = r.choice(list(ACTIVATIONS))
    return case(f"{name}(x)", {"x": r.real(r.shape(least_size=0), "decimal", "wide", "special")}, ACTIVATIONS[name])


# By the intervals from which operands come; the bound in ulp is both sides' together, as glibc and SLEEF state theirs.
MORE_LIBM = {"tan": (-100, 100, 2), "asin": (-1, 1, 2), "acos": (-1, 1, 2), "atan": (-50, 50, 2), "sinh": (-30, 30, 4),
             "cosh": (-30, 30, 4), "asinh": (-50, 50, 4), "acosh": (1, 50, 4), "atanh": (-1, 1, 4), "erfc": (-5, 10, 8),
             "log10": (0.05, 50, 4)}


@family("more functions of libm", 150, "2 to 8 ulp, both sides together; lgamma has zeros and poles, so absolutely too")
def _(r):
    form = r.random()
    if form < 0.2:
        a, b = r.broadcast_shapes(2)
        text = r.choice(["atan2(x, y)", "atan2(x, -1)", "atan2(2, x)", "hypot(x, y)", "hypot(x, 3)"])
        return case(text, {"x": r.real(a, "decimal", "special"), "y": r.real(b, "decimal", "special")}, 2)
    shape = r.shape(least_size=0)
    if form < 0.3:
        return case("lgamma(x)", {"x": r.real(shape, "positive", "decimal", high=20.0)}, "8 * eps * maximum(1, abs(out))")
    name = r.choice(list(MORE_LIBM))
    low, high, ulps = MORE_LIBM[name]
    return case(f"{name}(x)", {"x": r.real(shape, "decimal", "decimal", "special", low=low, high=high)}, ulps)


MORE_ACTIVATIONS = {
    "selu(x)": "eps * (3 * abs(out) + 3)", "elu(x)": "eps * (abs(out) + 2)", "elu(x, alpha=0.7)": "eps * (abs(out) + 2)",
    "celu(x, 1.5)": "eps * (2 * abs(out) + 4)", "celu(x)": "eps * (abs(out) + 2)",  # exp(x) - 1 cancels: absolute
    "mish(x)": "8 * eps * abs(out) + 1e-305", "softsign(x)": "3 * eps * abs(out)", "relu6(x)": "0 * eps",
    "hardswish(x)": "eps * (4 * abs(out) + 2 * abs(x))", "hardsigmoid(x)": "4 * eps", "hardtanh(x)": "0 * eps",
    "hardtanh(x, low=-3, high=0.5)": "0 * eps", "leaky_relu(x)": "eps * abs(out)", "leaky_relu(x, slope=0.25)": "eps * abs(out)",
}


@family("more activations", 120, "the roundings of the defining formula, on both sides")
def _(r):
    text = r.choice(list(MORE_ACTIVATIONS))
    return case(text, {"x": r.real(r.shape(least_size=0), "decimal", "whole")}, MORE_ACTIVATIONS[text])
