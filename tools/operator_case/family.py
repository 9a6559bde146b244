"""What a family of cases is, and how far two honest evaluations may lie apart.

A bound is None (the same number), a whole number of ulps (0: a zero of either sign), or an expression over the case's
names, eps = 2^-52 and n (elements of the first input for each of the output), with one absolute bound for each element.
u = 2^-53 is one rounding; libm and PyTorch's vectorised functions are within one ulp, so two of them are within two.
The bounds cover the errors of both sides.
"""
import dataclasses
import re
from typing import Callable

LEFT_OUT = [
    "sign(nan) is nan (PyTorch: 0); softplus is log(1 + exp(x)) everywhere, so PyTorch's is called as logaddexp(x, 0);",
    "casts to e4m3 beyond its range give nan (PyTorch: the largest value), casts to integers saturate (PyTorch: undefined),",
    "casts to f16, bf16, e4m3 and e5m2 round once (PyTorch rounds to f32 before), so operands of these are f32 values;",
    "// and % of integers by 0; % by denormals (PyTorch's fmod is not exact there).",
]


@dataclasses.dataclass
class Case:
    statements: list
    inputs: dict
    bound: object = None


def names(*texts):
    return set(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))


def case(text, inputs, bound=None, before=()):
    """The value of `text` after the statements `before`, with those of the inputs that are named."""
    used = names(text, *before)
    return Case([*before, f"out = {text}"], {name: value for name, value in inputs.items() if name in used}, bound)


@dataclasses.dataclass
class Family:
    name: str
    why: str
    count: int
    make: Callable


FAMILIES = []


def family(name, count, why):
    return lambda make: FAMILIES.append(Family(name, why, count, make))


EXACT = "exact"
