"""Elements by index and order, scans and counts: their vocabulary and families."""
import torch

from .family import EXACT, case, family
from .vocabulary import VOCABULARY, promoted


def grown(x, other, axis):
    """x with its sizes of 1 off the axis grown to the other's."""
    return x.expand([size if a == axis else max(size, other.shape[a]) for a, size in enumerate(x.shape)])


def gather(x, index, axis=-1):
    axis %= x.dim()
    return torch.gather(grown(x, index, axis), axis, grown(index, x, axis))


def scattered(how):
    def scatter(x, index, updates, axis=-1):
        axis %= x.dim()
        x, updates = promoted(x, updates)
        index = grown(index, x, axis)
        updates = torch.broadcast_to(updates, index.shape)
        if how is None:
            return x.scatter(axis, index, updates)
        return x.scatter_reduce(axis, index, updates, how, include_self=True)
    return scatter


def running(function):
    def along(x, axis=-1, reverse=False):
        return function(x.flip(axis), axis).flip(axis) if reverse else function(x, axis)
    return along


def scan(a, b, axis=-1, initial=None, reverse=False):
    a, b = torch.broadcast_tensors(a, b)
    steps = list(zip(a.unbind(axis), b.unbind(axis)))
    state, states = torch.zeros_like(steps[0][0]) if initial is None else initial, []
    for factor, term in reversed(steps) if reverse else steps:
        state = factor * state + term
        states.append(state)
    return torch.stack(states[::-1] if reverse else states, axis)


def ordered(x, axis, descending):
    return torch.sort(x, dim=axis, descending=descending, stable=True)


VOCABULARY.update(
    gather=gather, scatter=scattered(None), scatter_add=scattered("sum"), scatter_max=scattered("amax"),
    scatter_min=scattered("amin"), scan=scan,
    sort=lambda x, axis=-1, descending=False: ordered(x, axis, descending).values,
    argsort=lambda x, axis=-1, descending=False: ordered(x, axis, descending).indices,
    topk=lambda x, k, axis=-1: torch.topk(x, k, axis).values,
    topk_index=lambda x, k, axis=-1: ordered(x, axis, True).indices.narrow(axis, 0, k),  # torch.topk leaves ties open
    cumsum=running(torch.cumsum), cumprod=running(torch.cumprod), logcumsumexp=running(torch.logcumsumexp),
    cummax=running(lambda x, axis: torch.cummax(x, axis).values), cummin=running(lambda x, axis: torch.cummin(x, axis).values),
    bincount=lambda x, size, weights=None: torch.bincount(
        x.reshape(-1), None if weights is None else weights.reshape(-1), size),
    histogram=lambda x, low, high, bins: torch.histc(x, bins, low, high).long())


def along(r, rank):
    """An axis and how a call names it."""
    axis = r.axis(rank)
    return axis, "" if axis in (-1, rank - 1) and r.random() < 0.4 else f", axis={axis}"


def indices(r, shape, axis, picks, repeated):
    """An index tensor of `picks` places along the axis; off it of the shape, or of size 1 if repeats are allowed."""
    lines = [1 if repeated and r.random() < 0.25 else size for size in shape]
    size, lines[axis] = shape[axis], picks
    count = 1
    for n in lines:
        count *= n
    drawn = []
    for _ in range(count // picks):
        drawn += [r.randrange(size) for _ in range(picks)] if repeated else r.sample(range(size), picks)
    at_end = lines[:axis % len(lines)] + lines[axis % len(lines) + 1:] + [picks]
    return r.choice(["i64", "i32"]), torch.tensor(drawn, dtype=torch.int64).reshape(at_end).movedim(-1, axis)


@family("gather", 80, EXACT)
def _(r):
    shape = r.shape(least_rank=1, most_rank=4)
    axis, text = along(r, len(shape))
    x = r.choice([r.real, r.integer, r.boolean])(shape)
    return case(f"gather(x, i{text})", {"x": x, "i": indices(r, shape, axis, r.randint(1, 4), True)})


@family("scatter", 140, EXACT + ", zeros of either sign; sums of n updates and the element: n u sum|t| on each side")
def _(r):
    shape = r.shape(least_rank=1, most_rank=4)
    axis, text = along(r, len(shape))
    name = r.choice(["scatter", "scatter_add", "scatter_add", "scatter_max", "scatter_min"])
    repeated = name != "scatter"
    index = indices(r, shape, axis, r.randint(1, 5 if repeated else shape[axis]), repeated)
    updates = list(shape)
    updates[axis] = index[1].shape[axis]
    updates = [1 if r.random() < 0.2 else size for size in updates]
    if r.random() < 0.2:
        return case(f"{name}(k, i, j{text})", {"k": r.integer(shape), "i": index, "j": r.integer(updates)})
    update, bound, styles = r.choice(["u", "u", "u", "2"]), 0, ["decimal", "whole", "special"]
    if name == "scatter_add":
        bound, styles = f"eps * {index[1].shape[axis]} * scatter_add(abs(x), i, abs(u){text})", ["decimal", "whole"]
        update = "u"
    call = f"{name}(x, i, {update}{text})"
    return case(call, {"x": r.real(shape, *styles), "u": r.real(updates, *styles), "i": index}, bound)


@family("order", 160, EXACT + ", zeros of either sign; equal ones keep their order, nan is the largest")
def _(r):
    shape = r.shape(least_rank=1, most_rank=4)
    axis, text = along(r, len(shape))
    name = r.choice(["sort", "argsort", "topk", "topk_index"])
    text += f", descending={r.choice(['true', 'false'])}" if "sort" in name and r.random() < 0.6 else ""
    k = f", {r.randint(1, shape[axis])}" if "topk" in name else ""
    x = r.integer(shape, -3, 3) if r.random() < 0.25 else r.real(shape, "whole", "special", "decimal")
    return case(f"{name}(x{k}{text})", {"x": x}, 0)


@family("scans", 160, "sums, products: n roundings on each side; logcumsumexp: a logarithm and an exponential at each step; "
        "scan and extremes " + EXACT + ", zeros of either sign")
def _(r):
    shape = r.shape(least_rank=1, most_rank=3)
    axis, text = along(r, len(shape))
    text += r.choice(["", "", ", reverse=true", ", reverse=false"])
    name, n = r.choice(["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "scan"]), shape[axis]
    if name == "scan":
        start = shape[:axis % len(shape)] + shape[axis % len(shape) + 1:]
        initial = ", initial=z" if r.random() < 0.5 else ""
        inputs = {"a": r.real(shape, "near one"), "x": r.real(shape, "decimal"), "z": r.real(start, "decimal")}
        return case(f"scan(a, x{text}{initial})", inputs, 0)
    if name in ("cummax", "cummin"):
        return case(f"{name}(x{text})", {"x": r.real(shape, "whole", "special", "decimal")}, 0)
    bound = {"cumsum": f"{n} * eps * cumsum(abs(x){text})", "cumprod": f"{n} * eps * abs(out)",
             "logcumsumexp": f"{n} * eps * (6 + 2 * max(abs(x)))"}[name]
    return case(f"{name}(x{text})", {"x": r.real(shape, "near one" if name == "cumprod" else "decimal")}, bound)


@family("counts", 60, EXACT + "; weights: n u sum|w| on each side")
def _(r):
    shape = r.shape(most_rank=2, least_rank=1)
    if r.random() < 0.4:
        low, width, bins = r.randint(-4, 0), r.choice([0.5, 1, 2]), r.randint(1, 8)
        return case(f"histogram(x, {low}, {low + width * bins:g}, {bins})", {"x": r.real(shape, "halves", "decimal")})
    size = r.randint(1, 9)
    i = r.integer(shape, 0, size - 1)
    if r.random() < 0.5:
        return case(f"bincount(i, {size})", {"i": i})
    return case(f"bincount(i, {size}, weights=w)", {"i": i, "w": r.real(shape, "decimal")},
                f"{i[1].numel()} * eps * bincount(i, {size}, weights=abs(w))")


@family("saturating casts", 40, EXACT)
def _(r):
    values = [448.0, 463.9, 464.0, 480.0, 1e6, -500.0, float("inf"), float("-inf"), float("nan"), 1.0625, 0.001, -0.0]
    x = "f64", r.fill(r.shape(most_rank=2), lambda: r.choice(values), torch.float64).float().double()
    return case("cast(x, e4m3, saturate=true)", {"x": x})
