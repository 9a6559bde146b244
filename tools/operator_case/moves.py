"""Families of moves and casts, and of short programs of them."""
import math

import torch

from .family import EXACT, case, family
from .vocabulary import DTYPES


def index(r, shape):
    items, rest = [], r.random() < 0.25
    taken = r.randint(0, len(shape)) if rest else len(shape)
    split = r.randint(0, taken)
    for place, size in enumerate(shape):
        if rest and split <= place < split + len(shape) - taken:
            continue
        form = r.random()
        if form < 0.3 and size > 0:
            items.append(str(r.randint(-size, size - 1)))
        elif form < 0.85:
            start, stop = sorted([r.randint(0, size), r.randint(0, size)])
            def bound(at, default):
                if at == default and r.random() < 0.5:
                    return ""
                return str(at - size) if at < size and r.random() < 0.3 else str(at)
            first, last = bound(start, 0), bound(stop, size)
            items.append(f"{first}:{last}" + r.choice(["", "", ":", ":1", ":2", ":3"]))
        else:
            items.append(":")
    if rest:
        items.insert(split, "...")
    while r.random() < 0.3 and items.count("None") + len(shape) < 8:
        items.insert(r.randint(0, len(items)), "None")
    return "[" + ", ".join(items or ["..."]) + "]"


@family("indices", 260, EXACT)
def _(r):
    shape = r.shape(least_rank=1, least_size=0)
    make = r.choice([r.real, r.integer, r.boolean])
    return case(f"x{index(r, shape)}", {"x": make(shape)})


def split(r, shape):
    """Another shape of as many elements."""
    count, sizes = math.prod(shape), []
    while count > 1 and len(sizes) < 4:
        factor = r.choice([d for d in range(1, count + 1) if count % d == 0])
        sizes.append(factor)
        count //= factor
    return sizes + ([count] if count != 1 else []) if math.prod(shape) else shape[::-1]


@family("moves", 260, EXACT)
def _(r):
    shape = r.shape(least_rank=1, least_size=0)
    rank = len(shape)
    make = r.choice([r.real, r.integer, r.boolean])
    name = r.choice(["permute", "transpose", "reshape", "broadcast", "concat", "take", "arange", "take"])
    if name == "permute":
        order = [a - rank if r.random() < 0.3 else a for a in r.sample(range(rank), rank)]
        return case(f"permute(x, {order})", {"x": make(shape)})
    if name == "transpose":
        shape = r.shape(least_rank=2)
        return case("transpose(x)", {"x": make(shape)})
    if name == "reshape":
        return case(f"reshape(x, {split(r, shape)})", {"x": make(shape)})
    if name == "broadcast":
        whole, part = r.broadcast_shapes(2)
        whole = torch.broadcast_shapes(whole, part)
        return case(f"broadcast(x, {list(whole)})", {"x": make(part)})
    if name == "concat":
        axis, parts = r.axis(rank), {}
        for part in "xyzw"[:r.randint(1, 4)]:
            other = list(shape)
            other[axis] = r.randint(0, 3)
            parts[part] = make(other)
        along = "" if axis in (-1, rank - 1) and r.random() < 0.5 else f", axis={axis}"
        return case(f"concat({', '.join(parts)}{along})", parts)
    if name == "arange":
        start, stop = sorted([r.randint(-5, 9), r.randint(-5, 9)])
        text = r.choice([f"arange({start}, {stop}) * i", f"i[:, None] - arange({abs(stop)})"])
        return case(text, {"i": r.integer([r.choice([1, max(1, stop - start)]) if start < stop else 1])})
    axis = r.axis(rank)
    if shape[axis] == 0:
        shape[axis] = 2
    picks = r.shape(most_rank=2, most=6)
    along = "" if axis in (0, -rank) and r.random() < 0.5 else r.choice([f", axis={axis}", f", {axis}"])
    return case(f"take(x, i{along})", {"x": make(shape), "i": r.integer(picks, 0, shape[axis] - 1)})


def midpoints(r, name):
    """A value of a narrow type, a value half way to its neighbour, or one beside that; each is an f32."""
    dtype = DTYPES[name]
    size = torch.tensor([], dtype=dtype).element_size()
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[size]
    while True:
        bits = r.randrange(2 ** (8 * size - 1) - 1)
        low, high = torch.tensor([bits, bits + 1], dtype=kind).view(dtype).double().tolist()
        if math.isfinite(low) and math.isfinite(high):
            value = r.choice([low, (low + high) / 2, (low + high) / 2, low + (high - low) * 0.375, high - (high - low) * 0.25])
            return r.choice([-1, 1]) * value


@family("casts", 260, EXACT + ": to nearest even; integers drop the fraction")
def _(r):
    name = r.choice(["f32", "bf16", "f16", "e4m3", "e5m2", "i8", "u8", "i16", "i32", "i64", "bool", "f64"])
    shape = r.shape(most_rank=2, least_size=0)
    x = {
        "i8": lambda: r.real(shape, "decimal", "halves", low=-128.99, high=127.99),
        "u8": lambda: r.real(shape, "positive", high=255.99),
        "i16": lambda: r.real(shape, "decimal", low=-32768.9, high=32767.9),
        "i32": lambda: r.real(shape, "decimal", low=-2.147e9, high=2.147e9),
        "i64": lambda: r.real(shape, "decimal", low=-9e15, high=9e15),
        "bool": lambda: r.real(shape, "special", "whole"),
        "f64": lambda: r.real(shape),
    }.get(name, lambda: ("f64", r.fill(shape, lambda: midpoints(r, name), torch.float64)))()
    if name in ("f16", "bf16", "f32") and r.random() < 0.3:
        limits = [math.inf, -math.inf, math.nan, 65504.0, 65519.0, 65520.0, 1e5, 3.4e38, -3.4e38, 0.0, -0.0]
        x = "f64", r.fill(shape, lambda: r.choice(limits), torch.float64)
        x = "f64", x[1].float().double()
    text = r.choice([f"cast(x, {name})"] * 3 + [f"cast(i, {name})", f"cast(b, {name})"])
    inputs = {"x": x, "i": r.integer(shape, *((0, 100) if name == "u8" else (-100, 100))), "b": r.boolean(shape)}
    return case(text, inputs)


@family("programs", 240, EXACT + ", zeros of either sign: a few statements of moves, choices and one-rounding steps")
def _(r):
    shape = r.shape(least_rank=2, most_rank=3)
    rank = len(shape)
    kept = r.choice(["axis=-1", "axis=0", f"axis={list(range(rank))}"])
    whole = ", ".join(map(str, shape))
    order = [0] + r.sample(range(1, rank + 1), rank)
    statement = "t = " + r.choice([
        "where(x > y, x - y, 0)", "maximum(x, y[..., 0][..., None])", f"x - max(x, {kept}, keepdims=true)",
        f"cast(x >= min(y, {kept}, keepdims=true), i32) * i", f"permute(reshape(x, [1, {whole}]), {order})",
        "where(not (x == y) and i > 0, i, -i)", "transpose(x) * 2", "concat(x, y, i * 1.0)", "1 / (i * -i)", "1 / (i % 1)",
        "1 / -(i // 9)", "cast(x, f16) * cast(y, bf16)", "x[None] + y[:, None]", f"arange({shape[-1]}) <= i",
        f"x * (arange({shape[0]})[:{', None' * (rank - 1)}] % 2)", "cast(argmax(x, axis=-1), f32) + x[..., 0]",
        "cast(round(x / 4), i8)",
    ])
    ends = ["t", "-t", "abs(t) + 1", f"t[..., ::{r.randint(1, 3)}]", "t[None, ..., 0]"]
    boolean = "<=" in statement
    ends = [end for end in ends if not (boolean and ("-t" in end or "abs" in end))]
    inputs = {"x": r.real(shape, "decimal", "special", "whole"), "y": r.real(shape, "whole", "halves"), "i": r.integer(shape)}
    if "cast" in statement:
        inputs["x"] = r.real(shape, "halves")
    return case(r.choice(ends), inputs, 0, before=[statement])
