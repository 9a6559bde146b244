"""Families of reductions, scans, softmax and products."""
import math

import torch

from .family import EXACT, Case, family


@family("exact reductions", 260, EXACT + ", zeros of either sign; ties and nan: the first")
def _(r):
    name = r.choice(["max", "min", "argmax", "argmin", "any", "all", "sum", "prod", "count"])
    shape = r.shape(least_size=0 if name in ("sum", "count", "any", "all") else 1)
    axes = r.axes(len(shape)) + r.keepdims()
    if name in ("argmax", "argmin"):
        shape = r.shape(least_rank=1)
        axes = f", axis={r.axis(len(shape))}" + r.keepdims()
    if name in ("any", "all", "count"):
        return Case([f"out = {'sum' if name == 'count' else name}(b{axes})"], {"b": r.boolean(shape)})
    if name in ("sum", "prod") or r.random() < 0.2:
        return Case([f"out = {name}(i{axes})"], {"i": r.integer(shape, *((-3, 3) if name == "prod" else (-1000, 1000)))})
    return Case([f"out = {name}(x{axes})"], {"x": r.real(shape, "whole", "special", "decimal")}, 0)


@family("sums", 260, "n elements: (n - 1) u sum|x| on each side, whatever the order")
def _(r):
    name = r.choice(["sum", "sum", "mean", "cumsum", "prod", "var"])
    shape = r.shape(least_size=0 if name in ("sum", "prod", "cumsum") else 1)
    axes = r.axes(len(shape))
    keep = r.keepdims()
    if name == "cumsum":
        shape = shape or [3]
        axes, keep = r.choice(["", f", axis={r.axis(len(shape))}"]), ""
    tail = f"{axes}{keep}"
    bound = {
        "sum": f"n * eps * sum(abs(x){tail})",
        "mean": f"(n + 1) * eps * mean(abs(x){tail})",
        "cumsum": f"x.shape[{axes.split('=')[1] if axes else -1}] * eps * cumsum(abs(x){axes})",
        "prod": "n * eps * abs(out)",
        # Two passes: (n + 2) u var; Welford's: n u sqrt(var mean(x^2)); values all alike: the mean's own error, squared.
        "var": f"2 * (n + 2) * eps * (out * mean(x * x{tail})) ** 0.5 + (n * eps) ** 2 * mean(x * x{tail})",
    }[name]
    if name == "sum" and r.random() < 0.15:
        return Case([f"out = sum(x{tail})"], {"x": r.real(shape, "special")}, "nan_to_num(" + bound + ", posinf=0, nan=0)")
    styles = {"prod": ["near one"], "var": ["decimal", "whole"]}.get(name, ["decimal", "wide", "whole"])
    x = r.real(shape, *styles)
    if name == "var" and math.prod(shape) > 1 and not axes and r.random() < 0.5:  # n / (n - 1) is two at the most
        return Case([f"out = var(x, correction=1{keep})"], {"x": x}, f"2 * ({bound})")
    return Case([f"out = {name}(x{tail})"], {"x": x}, bound)


@family("softmax family", 160, "exp 1 ulp, a sum of n, a quotient or a logarithm; both sides subtract the same greatest element")
def _(r):
    name = r.choice(["softmax", "log_softmax", "logsumexp"])
    shape = r.shape(least_rank=1)
    axis = r.axis(len(shape))
    text = r.choice(["", f", axis={axis}"])
    axis = axis if text else -1
    n = shape[axis]
    keep = r.keepdims() if name == "logsumexp" else ""
    top = f"max(x, axis={axis}, keepdims=true)"
    log = f"log(sum(exp(x - {top}), axis={axis}{keep if name == 'logsumexp' else ', keepdims=true'}))"
    bound = {
        "softmax": f"{n + 4} * eps * out + 1e-307",
        "log_softmax": f"eps * ({n + 2} + 2 * abs({log}) + abs(out) + abs({top} + {log}))",
        "logsumexp": f"eps * ({n + 2} + 2 * abs({log}) + abs(out))",
    }[name]
    style = r.choice(["decimal", "decimal", "wide", "whole", "infinite"])
    infinite = [-math.inf] * 3 + [0.0, 1.5, math.inf] + [-2.0] * 4
    x = r.real(shape, style) if style != "infinite" else ("f64", r.fill(shape, lambda: r.choice(infinite), torch.float64))
    return Case([f"out = {name}(x{text}{keep})"], {"x": x}, f"nan_to_num({bound}, nan=0, posinf=0)")


@family("products", 200, "n products and their sum: n u sum|a||b| on each side, whatever the order; integers exact")
def _(r):
    m, n, k = r.randint(1, 4), r.randint(1, 4), r.choice([0, 1, 2, 3, 4, 5])
    batch_a, batch_b = r.broadcast_shapes(2, most_rank=2, most=4) if r.random() < 0.5 else ([], [])
    a, b = batch_a + [m, k], batch_b + [k, n]
    form = r.random()
    if form < 0.15:
        a = [k]
    if 0.1 < form < 0.25:
        b = [k]
    text = r.choice(["{0} @ {1}", "matmul({0}, {1})"])
    if r.random() < 0.25:
        return Case(["out = " + text.format("i", "j")], {"i": r.integer(a), "j": r.integer(b)})
    style = r.choice(["decimal", "wide", "whole"])
    bound = f"{k} * eps * (abs(x) @ abs(y))"
    if len(a) >= 2 and r.random() < 0.2:
        a[-1], a[-2] = a[-2], a[-1]
        return Case(["out = " + text.format("transpose(x)", "y")], {"x": r.real(a, style), "y": r.real(b, style)}, bound.replace("abs(x)", "transpose(abs(x))"))
    return Case(["out = " + text.format("x", "y")], {"x": r.real(a, style), "y": r.real(b, style)}, bound)
