"""Names for the axes and tensors of a problem. Pure."""

import re

# What a value may not be called, or had better not be: words of the language and functions of its text.
FUNCTIONS = set("""abs sign floor ceil trunc round square exp exp2 expm1 log log2 log10 log1p sqrt rsqrt cbrt tanh erf erfc sin cos tan asin
acos atan sinh cosh asinh acosh atanh lgamma pow minimum maximum clamp isnan isfinite where cast relu sigmoid silu gelu gelu_tanh softplus
mish relu6 softsign hardswish hardsigmoid elu leaky_relu selu hardtanh sum mean prod max min var argmax argmin any all cumsum cumprod
logcumsumexp cummax cummin scan softmax log_softmax logsumexp matmul transpose permute reshape broadcast concat take arange pad flip windows
max_pool avg_pool conv conv_transpose gather scatter scatter_add sort argsort topk topk_index bincount python""".split())
RESERVED = {"or", "and", "not", "inf", "nan", "true", "false", "True", "False", "axis", "python", "problem"}


def identifier(wanted, taken, otherwise="x"):
    """A name like `wanted` that is not in `taken`; adds it there."""
    name = re.sub(r"\W+", "_", wanted, flags=re.ASCII).strip("_")[:80] or otherwise
    if not re.match(r"[A-Za-z_]", name):
        name = f"{otherwise}{name}"
    if name in RESERVED or name in FUNCTIONS:
        name += "_"
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name}_{number}", number + 1
    taken.add(chosen)
    return chosen


def name_axes(symbols, constants, taken, places=None):
    """{symbol: name}. `symbols`: (symbol, size) in the order that they appear; `constants`: (name, value) in the order of
    the task's text. A size takes the constant of its value: as many constants as symbols in order; one constant for
    several symbols numbers them; otherwise nobody knows which is which, and it is called by its place, else S0, S1, …"""
    by_size, chosen, unnamed = {}, {}, 0
    for symbol, size in symbols:
        by_size.setdefault(size, []).append(symbol)
    for size, same in by_size.items():
        names = [name for name, value in constants if value == size]
        if len(names) == len(same):
            fits = {symbol: name for symbol in same for name in names if suits((places or {}).get(symbol), name)}
            if len(set(fits.values())) < len(fits):
                fits = {}
            rest = [name for name in names if name not in fits.values()]
            chosen.update(fits)
            chosen.update(zip([symbol for symbol in same if symbol not in fits], rest))
        elif len(names) == 1:
            chosen.update((symbol, names[0]) for symbol in same)
    named = {}
    for symbol, _ in symbols:
        wanted = chosen.get(symbol) or (places or {}).get(symbol)
        if wanted is None:
            wanted, unnamed = f"S{unnamed}", unnamed + 1
        named[symbol] = identifier(wanted, taken, "S")
    return named


def suits(place, name):
    """Is `name` what people call this place: H and height, conv_out and out_channels?"""
    if place is None:
        return False
    name = name.lower()
    if len(place) == 1:
        return name == place.lower() or {"N": "batch", "C": "in_channels", "D": "depth", "H": "height", "W": "width"}[place] in name
    return place.endswith("_out") and "out" in name or place.endswith("_in") and name.startswith("in")


def place_name(kind, name, rank, axis):
    """What the axis of a tensor is usually called; None: nothing is usual."""
    if kind == "parameter" and rank >= 2 and axis < 2:
        layer = re.sub(r"[._]?weight$", "", name) or name
        return f"{layer}_{('out', 'in')[axis]}"
    if kind == "parameter" and rank == 1:
        return f"{re.sub(r'[._]?(weight|bias)$', '', name) or name}_size"
    return {4: "NCHW", 5: "NCDHW"}[rank][axis] if kind == "input" and rank in (4, 5) else None
