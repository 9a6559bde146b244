"""Sizes: integer expressions over the axes of a problem, as nested tuples.

A size is an int, the name of an axis, or (operator, left, right) with + - * // % max min; numbers (scale factors made of
sizes) may also use / and **. Pure: nothing here needs torch or sympy; `from_sympy` looks only at class names and `.args`.
"""

import math

INTEGER_OPERATORS = ("+", "-", "*", "//", "%")
LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "**": 3}
RELATIONS = {"Eq": "==", "Equality": "==", "Ne": "!=", "Unequality": "!=", "GreaterThan": ">=", "Ge": ">=", "StrictGreaterThan": ">",
             "Gt": ">", "LessThan": "<=", "Le": "<=", "StrictLessThan": "<", "Lt": "<"}


class Untold(Exception):
    """What the text of a problem cannot say."""


def is_number(size):
    return isinstance(size, (int, float)) and not isinstance(size, bool)


def make(operator, left, right):
    """(operator, left, right), folded where that is plain."""
    if is_number(left) and is_number(right):
        return apply(operator, left, right)
    if operator == "*" and 1 in (left, right):
        return right if left == 1 else left
    if operator == "+" and 0 in (left, right):
        return right if left == 0 else left
    if (operator == "-" and right == 0) or (operator in ("//", "/", "**") and right == 1):
        return left
    if operator in ("//", "/") and left == right:
        return 1
    if operator == "-" and left == right:
        return 0
    return (operator, left, right)


def apply(operator, left, right):
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if operator == "//":
        return left // right
    if operator == "%":
        return left % right
    if operator == "max":
        return max(left, right)
    if operator == "min":
        return min(left, right)
    if operator == "/":
        return left / right
    return left**right


def evaluate(size, axes):
    if is_number(size):
        return size
    if isinstance(size, str):
        return axes[size]
    return apply(size[0], evaluate(size[1], axes), evaluate(size[2], axes))


def axes_of(size):
    if isinstance(size, str):
        return {size}
    return set() if is_number(size) else axes_of(size[1]) | axes_of(size[2])


def is_sum(size):
    """Of axes, or one axis."""
    return all(isinstance(term, str) for term in terms(size))


def rename(size, names):
    """`names`: {axis: another name, a number, or a size}."""
    if isinstance(size, str):
        return names[size]
    return size if is_number(size) else make(size[0], rename(size[1], names), rename(size[2], names))


def text(size, level=0):
    """As a problem file writes it; `level` is that of the operator around it."""
    if is_number(size):
        written = number_text(size)
        return f"({written})" if written.startswith("-") and level > 0 else written
    if isinstance(size, str):
        return size
    operator, left, right = size
    if operator in ("max", "min"):
        raise Untold(f"the size {operator}(…, …)")
    own = LEVELS[operator]
    # Both sides of ** in brackets: it binds tighter than a sign, and from the right.
    written = f"{text(left, own + (operator == '**'))} {operator} {text(right, own + 1)}"
    return f"({written})" if own < level else written


def number_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    written = repr(float(value))
    return written if "." in written or "e" in written else written + ".0"


def shape_text(shape):
    return "[" + ", ".join(text(size) for size in shape) + "]"


def product(sizes):
    total = 1
    for size in sizes:
        total = make("*", total, size)
    return total


def from_sympy(expression):
    kind, args = type(expression).__name__, getattr(expression, "args", ())
    if isinstance(expression, int) and not isinstance(expression, bool):
        return expression
    if kind in ("Integer", "Zero", "One", "NegativeOne"):
        return int(expression)
    if kind in ("Float", "float"):
        return float(expression)
    if kind == "Symbol":
        return str(expression)
    if kind in ("Rational", "Half"):
        return make("/", int(expression.p), int(expression.q))
    if kind == "Add":
        return sum_of([from_sympy(each) for each in args])
    if kind == "Mul":
        return product_of([from_sympy(each) for each in args])
    if kind in ("Pow", "PowByNatural", "FloatPow"):
        base, power = map(from_sympy, args)
        if isinstance(power, int) and 0 < power <= 8:
            return product([base] * power)
        return make("**", base, power)
    if kind in ("FloorDiv", "CleanDiv", "IntTrueDiv", "FloatTrueDiv", "Mod", "PythonMod"):
        operator = {"FloorDiv": "//", "CleanDiv": "//", "Mod": "%", "PythonMod": "%"}.get(kind, "/")
        return make(operator, *map(from_sympy, args))
    if kind == "ModularIndexing":
        base, divisor, modulus = map(from_sympy, args)
        return make("%", make("//", base, divisor), modulus)
    if kind in ("Max", "Min"):
        folded = from_sympy(args[0])
        for each in args[1:]:
            folded = make(kind.lower(), folded, from_sympy(each))
        return folded
    if kind in ("ToFloat", "Identity", "CeilToInt", "FloorToInt", "TruncToInt", "Trunc", "floor") and len(args) == 1:
        inner = from_sympy(args[0])
        if kind in ("FloorToInt", "TruncToInt", "floor") and isinstance(inner, tuple) and inner[0] == "/":
            return ("//", inner[1], inner[2])
        if kind in ("ToFloat", "Identity"):
            return inner
    if kind.endswith("sqrt"):
        return make("**", from_sympy(args[0]), 0.5)
    raise Untold(f"the size {expression} ({kind})")


def sum_of(terms):
    """Positive terms first, so that no size starts with a sign."""
    def negative(term):
        return (is_number(term) and term < 0) or (isinstance(term, tuple) and term[0] == "*" and is_number(term[1]) and term[1] < 0)

    total = None
    numbers = [term for term in terms if is_number(term)]
    others = [term for term in terms if not is_number(term)]
    for term in [t for t in others if not negative(t)] + [n for n in numbers if n >= 0] + [t for t in others if negative(t)] + [n for n in numbers if n < 0]:
        if total is None:
            total = term
        elif negative(term):
            total = make("-", total, -term if is_number(term) else make("*", -term[1], term[2]))
        else:
            total = make("+", total, term)
    return 0 if total is None else total


def product_of(factors):
    number, rest, divisor = 1, None, None
    for factor in factors:
        if is_number(factor):
            number *= factor
        elif isinstance(factor, tuple) and factor[0] == "**" and factor[2] == -1:
            divisor = factor[1] if divisor is None else make("*", divisor, factor[1])
        else:
            rest = factor if rest is None else make("*", rest, factor)
    whole = number if rest is None else make("*", number, rest)
    return whole if divisor is None else make("/", whole, divisor)


def relation(expression):
    """(relation, left, right) of a sympy relation; None for anything else."""
    kind = RELATIONS.get(type(expression).__name__)
    if kind is None:
        return None
    left, right = map(from_sympy, expression.args)
    while is_number(right) and isinstance(left, tuple) and left[0] in "+-" and is_number(left[2]):
        left, right = left[1], right - left[2] if left[0] == "+" else right + left[2]   # a + 4 >= 11: a >= 7
    return kind, *without_common_terms(left, right)


def without_common_terms(left, right):
    """a + c and b + c: a and b."""
    lefts, rights = terms(left), terms(right)
    for term in list(lefts):
        if term in rights:
            lefts.remove(term)
            rights.remove(term)
    return sum_of(lefts), sum_of(rights)


def terms(size):
    return terms(size[1]) + terms(size[2]) if isinstance(size, tuple) and size[0] == "+" else [size]


def holds(constraint, axes):
    kind, left, right = constraint
    try:
        a, b = evaluate(left, axes), evaluate(right, axes)
    except ZeroDivisionError:
        return False
    return {"==": a == b, "!=": a != b, ">=": a >= b, ">": a > b, "<=": a <= b, "<": a < b}[kind]


def constraint_text(constraint):
    kind, left, right = constraint
    return f"{text(left)} {kind} {text(right)}"
