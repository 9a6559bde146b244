"""Families of windows: padding, windows as axes, pooling, convolutions; and what these are in PyTorch."""
import torch
from torch.nn import functional as F

from .family import EXACT, case, family
from .vocabulary import VOCABULARY


def spread(value, count):
    return list(value) if isinstance(value, list) else [value] * count


def pad(x, axis, before=0, after=0, value=0):
    axis = [a % x.dim() for a in spread(axis, 1)]
    shape, inside = list(x.shape), [slice(None)] * x.dim()
    for a, low, high in zip(axis, spread(before, len(axis)), spread(after, len(axis))):
        inside[a] = slice(low, low + shape[a])
        shape[a] += low + high
    out = torch.full(shape, value.item() if torch.is_tensor(value) else value, dtype=x.dtype)
    out[tuple(inside)] = x
    return out


def windows(x, axis, size, step=1, dilation=1):
    axis = [a % x.dim() for a in spread(axis, 1)]
    of_axes = zip(axis, spread(size, len(axis)), spread(step, len(axis)), spread(dilation, len(axis)))
    for a, count, move, apart in of_axes:
        x = x.unfold(a, apart * (count - 1) + 1, move)[..., ::apart]
    return x


def pooled(functions, x, size, *arguments):
    rank = len(size)
    planes = x.double().reshape((-1, 1) + x.shape[x.dim() - rank:])
    out = functions[rank - 1](planes, size, *arguments)
    return out.reshape(x.shape[:x.dim() - rank] + out.shape[2:])


def max_pool(x, size, step=None, padding=0, dilation=1, ceil=False):
    out = pooled([F.max_pool1d, F.max_pool2d, F.max_pool3d], x, size, step, padding, dilation, ceil)
    return out if torch.isinf(out).any() else out.to(x.dtype)  # a window of nothing but padding: -inf of integers too


def avg_pool(x, size, step=None, padding=0, ceil=False, count_padding=True):
    return pooled([F.avg_pool1d, F.avg_pool2d, F.avg_pool3d], x, size, step, padding, ceil, count_padding)


def conv(x, w, step=1, padding=0, dilation=1, groups=1):
    function = [F.conv1d, F.conv2d, F.conv3d][x.dim() - 3]
    return function(x.double(), w.double(), None, step, padding, dilation, groups).to(torch.promote_types(x.dtype, w.dtype))


def conv_transpose(x, w, step=1, padding=0, dilation=1, groups=1, output_padding=0):
    function = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][x.dim() - 3]
    out = function(x.double(), w.double(), None, step, padding, output_padding, groups, dilation)
    return out.to(torch.promote_types(x.dtype, w.dtype))


VOCABULARY.update(pad=pad, windows=windows, max_pool=max_pool, avg_pool=avg_pool, conv=conv, conv_transpose=conv_transpose,
                  flip=lambda x, axis: torch.flip(x, spread(axis, 1)))


def drawn(r, rank, draw):
    """A list, or one number for all axes."""
    return draw() if r.random() < 0.3 else [draw() for _ in range(rank)]


def argument(r, name, value, default):
    return "" if value == default and r.random() < 0.5 else f", {name}={value}"


def span(size, dilation):
    return [d * (k - 1) + 1 for k, d in zip(size, spread(dilation, len(size)))]


@family("padding and flips", 80, EXACT)
def _(r):
    shape = r.shape(1, 4, 16, least_size=0)
    chosen = r.sample(range(len(shape)), r.randint(1, len(shape)))
    axis = chosen[0] if len(chosen) == 1 and r.random() < 0.5 else [a - len(shape) if r.random() < 0.3 else a for a in chosen]
    if r.random() < 0.3:
        return case(f"flip(x, axis={axis})", {"x": r.real(shape, "special", "decimal")})
    amounts = "".join(argument(r, name, drawn(r, len(chosen), lambda: r.randint(0, 2)), 0) for name in ("before", "after"))
    form = r.random()
    if form < 0.2:
        return case(f"pad(i, axis={axis}{amounts}{r.choice(['', ', value=3'])})", {"i": r.integer(shape)})
    if form < 0.3:
        return case(f"pad(b, axis={axis}{amounts}, value={r.choice(['1 > 0', '1 < 0'])})", {"b": r.boolean(shape)})
    return case(f"pad(x, axis={axis}{amounts}{r.choice(['', ', value=2.5', ', value=-1', ', value=-inf'])})", {"x": r.real(shape)})


@family("windows", 80, EXACT)
def _(r):
    shape = r.shape(1, 3, 24)
    chosen = r.sample(range(len(shape)), r.randint(1, len(shape)))
    size, dilation = [r.randint(1, min(3, shape[a])) for a in chosen], 1
    if r.random() < 0.3:
        dilation = [r.randint(1, max(1, (shape[a] - 1) // max(1, k - 1))) if k > 1 else 2 for a, k in zip(chosen, size)]
    step = drawn(r, len(chosen), lambda: r.randint(1, 3))
    text = f"windows(x, axis={chosen}, size={size}{argument(r, 'step', step, 1)}{argument(r, 'dilation', dilation, 1)})"
    return case(text, {"x": r.real(shape)})


def pooling(r, dilated):
    rank = r.randint(1, 3)
    size = [r.randint(1, 4) for _ in range(rank)]
    dilation = drawn(r, rank, lambda: r.randint(1, 2)) if dilated else 1
    spans = span(size, dilation)
    padding = [r.randint(0, k // 2) for k in size] if r.random() < 0.6 else 0
    # One window fits, with its padding; PyTorch's avg_pool3d wants it to fit without.
    least = [s if rank == 3 else max(1, s - 2 * p) for s, p in zip(spans, spread(padding, rank))]
    shape = [r.randint(n, n + [8, 3, 2][rank - 1]) for n in least]
    step = argument(r, "step", drawn(r, rank, lambda: r.randint(1, 3)), None) if r.random() < 0.8 else ""
    text = f"x, {size}{step}{argument(r, 'padding', padding, 0)}"
    if dilated:
        text += argument(r, "dilation", dilation, 1)
    if r.random() < 0.5:
        text += ", ceil=true"
    return text, [r.randint(1, 2) for _ in range(r.randint(0, 2))] + shape, size


@family("largest of windows", 120, EXACT + ", zeros of either sign")
def _(r):
    text, shape, _ = pooling(r, True)
    if r.random() < 0.2:
        return case(f"max_pool({text})", {"x": r.integer(shape)})
    return case(f"max_pool({text})", {"x": r.real(shape)}, 0)


@family("means of windows", 120, "each term is rounded into the sum once on each side, and the quotient")
def _(r):
    text, shape, size = pooling(r, False)
    text += r.choice(["", ", count_padding=false", ", count_padding=true"])
    terms = 1
    for k in size:
        terms *= k
    return case(f"avg_pool({text})", {"x": r.real(shape, "decimal", "whole")}, f"eps * {terms + 1} * avg_pool(abs(x){text[1:]})")


def convolution(r, transposed):
    rank, groups = r.choice([1, 1, 2, 2, 3]), r.choice([1, 1, 2, 3])
    size = [r.randint(1, 4 if rank == 1 else 3) for _ in range(rank)]
    dilation = drawn(r, rank, lambda: r.randint(1, 2)) if r.random() < 0.4 else 1
    step = drawn(r, rank, lambda: r.randint(1, 3)) if r.random() < 0.6 else 1
    spans, steps, dilations = span(size, dilation), spread(step, rank), spread(dilation, rank)
    padding = [r.randint(0, (s - 1) // 2 if transposed else 3) for s in spans] if r.random() < 0.6 else 0
    most = [7, 3, 2][rank - 1]
    shape = [r.randint(1, most) if transposed else r.randint(max(1, s - 2 * p), max(1, s - 2 * p) + most)
             for s, p in zip(spans, spread(padding, rank))]
    inner, outer = r.randint(1, 3), r.randint(1, 3)
    weights = [inner * groups, outer] if transposed else [outer * groups, inner]
    text = "".join(argument(r, name, value, default) for name, value, default in
                   [("step", step, 1), ("padding", padding, 0), ("dilation", dilation, 1), ("groups", groups, 1)])
    if transposed and r.random() < 0.5:
        text += f", output_padding={[r.randint(0, max(s, d) - 1) for s, d in zip(steps, dilations)]}"
    terms = inner
    for k in size:
        terms *= k
    return text, [r.randint(1, 2), inner * groups] + shape, weights + size, terms


@family("convolutions", 140, "each term is rounded into the sum once on each side")
def _(r):
    text, x, w, terms = convolution(r, False)
    if r.random() < 0.15:
        return case(f"conv(i, j{text})", {"i": r.integer(x), "j": r.integer(w)})
    return case(f"conv(x, w{text})", {"x": r.real(x, "decimal", "whole"), "w": r.real(w, "decimal", "halves")},
                f"eps * {terms} * conv(abs(x), abs(w){text})")


@family("transposed convolutions", 140, "each term is rounded into the sum once on each side")
def _(r):
    text, x, w, terms = convolution(r, True)
    if r.random() < 0.15:
        return case(f"conv_transpose(i, j{text})", {"i": r.integer(x), "j": r.integer(w)})
    return case(f"conv_transpose(x, w{text})", {"x": r.real(x, "decimal", "whole"), "w": r.real(w, "decimal", "halves")},
                f"eps * {terms} * conv_transpose(abs(x), abs(w){text})")
