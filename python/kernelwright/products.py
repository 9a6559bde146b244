"""Rules: matrix products and attention."""

from .moves import list_text
from .operators import operand, rule, same_shape
from .sizes import Untold, product, shape_text, text


@rule("matmul", "mm", "bmm", "mv", "dot", "linalg_matmul")
def matmul(e, a):
    left, right = (a.get(first, a.get(second)) for first, second in (("self", "input"), ("other", "mat2")))
    right = right if right is not None else a.get("vec", a.get("tensor"))
    e.multiplies(e.shape, left.shape[-1])
    return f"{left} @ {right}"


@rule("linear")
def linear(e, a):
    e.multiplies(e.shape, a.input.shape[-1])
    return f"{a.input} @ transpose({a.weight})" + (f" + {a.bias}" if a.bias is not None else "")


def scaled(expression, factor):
    return expression if factor in (None, 1) else f"{operand(factor)} * ({expression})"


@rule("addmm", "addbmm", "baddbmm")
def addmm(e, a):
    if e.operator == "addbmm":
        raise Untold("addbmm")
    left, right = a.get("mat1", a.get("batch1")), a.get("mat2", a.get("batch2"))
    e.multiplies(e.shape, left.shape[-1])
    return f"{scaled(str(a.self), a.beta)} + {scaled(f'{left} @ {right}', a.alpha)}"


@rule("outer")
def outer(e, a):
    return f"{a.self}[:, None] * {a.vec2}[None, :]"


@rule("einsum")
def einsum(e, a):
    """Two operands at a time, as a batched matrix product: batch letters, left letters, summed letters, right letters."""
    equation = a.equation.replace(" ", "")
    inputs, _, output = equation.partition("->")
    if "." in equation or "->" not in equation:
        raise Untold(f"einsum {equation}")
    terms = list(zip(inputs.split(","), a.tensors))
    sizes_of = {letter: size for letters, x in terms for letter, size in zip(letters, x.shape)}
    if any(len(set(letters)) != len(letters) for letters, _ in terms):
        raise Untold(f"einsum {equation}: a letter twice in one operand")
    letters, value = terms[0]
    for number, (more, other) in enumerate(terms[1:]):
        needed = set(output).union(*(set(rest) for rest, _ in terms[number + 2:]))
        letters, value = contracted(e, (letters, value), (more, other), needed, sizes_of)
    gone = [i for i, letter in enumerate(letters) if letter not in output]
    if gone:
        value = e.let(f"sum({value}, axis={list_text(gone)})", [s for i, s in enumerate(value.shape) if i not in gone], value.dtype)
        letters = "".join(letter for letter in letters if letter in output)
    order = [letters.index(letter) for letter in output]
    return value if order == list(range(len(order))) else f"permute({value}, {list_text(order)})"


def contracted(e, left, right, needed, sizes_of):
    def shape(letters):
        return [sizes_of[letter] for letter in letters]

    def ordered(letters, value, wanted):
        gone = [i for i, letter in enumerate(letters) if letter not in wanted]
        if gone:
            letters = "".join(letter for i, letter in enumerate(letters) if i not in gone)
            value = e.let(f"sum({value}, axis={list_text(gone)})", shape(letters), value.dtype)
        order = [letters.index(letter) for letter in wanted]
        return value if order == list(range(len(order))) else e.let(f"permute({value}, {list_text(order)})", shape(wanted), value.dtype)

    def arranged(letters, value, groups):
        value = ordered(letters, value, "".join(groups))
        flat = shape(groups[0]) + [product(shape(group)) for group in groups[1:]]
        return value if same_shape(value.shape, flat) else e.let(f"reshape({value}, {shape_text(flat)})", flat, value.dtype)

    (a_letters, a), (b_letters, b) = left, right
    shared = [letter for letter in a_letters if letter in b_letters]
    batch = "".join(letter for letter in shared if letter in needed)
    summed = "".join(letter for letter in shared if letter not in needed)
    rows = "".join(letter for letter in a_letters if letter not in b_letters and letter in needed)
    columns = "".join(letter for letter in b_letters if letter not in a_letters and letter in needed)
    letters = batch + rows + columns
    if not summed:
        first, second = ordered(a_letters, a, batch + rows), ordered(b_letters, b, batch + columns)
        first = f"{first}[{', '.join([':'] * first.rank + ['None'] * len(columns))}]" if columns else first
        second = f"{second}[{', '.join([':'] * len(batch) + ['None'] * len(rows) + [':'] * len(columns))}]" if rows else second
        return letters, e.let(f"{first} * {second}", shape(letters), "f32")
    first, second = arranged(a_letters, a, (batch, rows, summed)), arranged(b_letters, b, (batch, summed, columns))
    flat = shape(batch) + [product(shape(rows)), product(shape(columns))]
    e.multiplies(flat, product(shape(summed)))
    value = e.let(f"{first} @ {second}", flat, "f32")
    if not same_shape(flat, shape(letters)):
        value = e.let(f"reshape({value}, {shape_text(shape(letters))})", shape(letters), "f32")
    return letters, value


@rule("scaled_dot_product_attention")
def attention(e, a):
    if a.get("dropout_p"):
        raise Untold("attention with dropout is random")
    q, k, v = a.query, a.key, a.value
    if a.get("enable_gqa") and q.shape[-3] != k.shape[-3]:
        raise Untold("grouped attention")
    *batch, rows, depth = q.shape
    columns = k.shape[-2]
    e.same(columns, v.shape[-2])
    e.same(depth, k.shape[-1])
    for first, second, third in zip(batch, k.shape[:-2], v.shape[:-2]):
        e.same(first, second)
        e.same(first, third)
    scale = f" / sqrt({text(depth)})" if a.get("scale") is None else f" * {operand(a.scale)}"
    e.multiplies(batch + [rows, columns], depth)
    e.multiplies(batch + [rows, v.shape[-1]], columns)
    shape = batch + [rows, columns]
    scores = e.let(f"({q} @ transpose({k})){scale}", shape, "f32", "scores")
    if a.get("is_causal"):
        scores = e.let(f"where(arange({text(columns)}) <= arange({text(rows)})[:, None], {scores}, -inf)", shape, "f32", "scores")
    mask = a.get("attn_mask")
    if mask is not None:
        scores = e.let(f"where({mask}, {scores}, -inf)" if mask.dtype == "bool" else f"{scores} + {mask}", shape, "f32", "scores")
    p = e.let(f"softmax({scores}, axis=-1)", shape, "f32", "p")
    return f"{p} @ {v}"
