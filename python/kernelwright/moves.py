"""Rules: operators that move elements or make constants."""

from .operators import RULES, Value, axes_list, axis_of, operand, rule, same_shape
from .sizes import Untold, is_number, make, number_text, shape_text, text


def list_text(values):
    return "[" + ", ".join(map(str, values)) + "]"


@rule("view", "reshape", "_unsafe_view", "flatten", "unflatten", "view_as", "reshape_as")
def reshape(e, a):
    x = e.input(a)
    return x if same_shape(x.shape, e.shape) else f"reshape({x}, {shape_text(e.shape)})"


def permuted(x, order):
    if order == list(range(x.rank)):
        return x
    if x.rank >= 2 and order == list(range(x.rank - 2)) + [x.rank - 1, x.rank - 2]:
        return f"transpose({x})"
    return f"permute({x}, {list_text(order)})"


@rule("permute")
def permute(e, a):
    return permuted(a.self, [axis_of(axis, a.self.rank) for axis in a.dims])


@rule("transpose", "swapaxes", "swapdims")
def transpose(e, a):
    order = list(range(a.self.rank))
    if order:
        first, second = (axis_of(a.get(one, a.get(two)), a.self.rank) for one, two in (("dim0", "axis0"), ("dim1", "axis1")))
        order[first], order[second] = order[second], order[first]
    return permuted(a.self, order)


@rule("t", "numpy_T", "mT", "adjoint", "matrix_H", "T")
def turned(e, a):
    x = e.input(a)
    whole = list(reversed(range(x.rank)))
    return permuted(x, whole if x.rank <= 2 or e.operator == "numpy_T" else list(range(x.rank - 2)) + whole[:2])


@rule("movedim")
def movedim(e, a):
    source, target = ([axis_of(axis, a.self.rank) for axis in each] for each in (a.source, a.destination))
    order = [axis for axis in range(a.self.rank) if axis not in source]
    for to, axis in sorted(zip(target, source)):
        order.insert(to, axis)
    return permuted(a.self, order)


@rule("unsqueeze")
def unsqueeze(e, a):
    at = a.dim + a.self.rank + 1 if a.dim < 0 else a.dim
    if a.self.rank == 0:
        return f"reshape({a.self}, [1])"
    return f"{a.self}[{', '.join([':'] * at + ['None'] + [':'] * (a.self.rank - at))}]"


@rule("squeeze")
def squeeze(e, a):
    axes = axes_list(a.get("dim"), a.self.rank)
    index = ["0" if axis in axes and size == 1 else ":" for axis, size in enumerate(a.self.shape)]
    return f"{a.self}[{', '.join(index)}]" if "0" in index else a.self


@rule("expand", "broadcast_to", "expand_as")
def expand(e, a):
    return a.self if same_shape(a.self.shape, e.shape) else f"broadcast({a.self}, {shape_text(e.shape)})"


@rule("copy")
def copy(e, a):
    if a.src.dtype != e.dtype:
        raise Untold(f"copying {a.src.dtype} into {e.dtype}")
    return a.src if same_shape(a.src.shape, e.shape) else f"broadcast({a.src}, {shape_text(e.shape)})"


@rule("broadcast_tensors")
def broadcast_tensors(e, a):
    return [x if same_shape(x.shape, shape) else f"broadcast({x}, {shape_text(shape)})" for x, shape in zip(a.tensors, e.shapes)]


def indexed(x, axis, index):
    return f"{x}[{', '.join([':'] * axis + [index] + [':'] * (x.rank - axis - 1))}]"


@rule("slice")
def slice_(e, a):
    axis = axis_of(a.get("dim", 0), a.self.rank)
    size, start, end, step = a.self.shape[axis], a.get("start"), a.get("end"), a.get("step", 1)
    start = 0 if start is None else start
    if is_number(end) and end >= 2**31:
        end = None
    if start == 0 and (end is None or end == size) and step == 1:
        return a.self
    bounds = ("" if start == 0 else text(start)) + ":" + ("" if end is None or end == size else stop(size, start, end, e.shape[axis], step))
    return indexed(a.self, axis, bounds if step == 1 else f"{bounds}:{step}")


def stop(size, start, end, length, step):
    """PyTorch cuts `end` off at the size: what the result's length says instead."""
    if is_number(end) and (end < 0 or is_number(size)) and not (is_number(size) and end > size):
        return text(end)
    return text(make("+", start, length)) if step == 1 and not (is_number(start) and start < 0) else text(end)


@rule("unfold")
def unfold(e, a):
    return f"windows({a.self}, {axis_of(a.dimension, a.self.rank)}, {text(a.size)}, step={text(a.step)})"


@rule("narrow")
def narrow(e, a):
    return indexed(a.self, axis_of(a.dim, a.self.rank), f"{text(a.start)}:{text(make('+', a.start, a.length))}")


@rule("select")
def select(e, a):
    return indexed(a.self, axis_of(a.dim, a.self.rank), text(a.index))


@rule("cat", "concat", "concatenate")
def cat(e, a):
    parts = [part for part in a.tensors if part.shape != [0]]
    return parts[0] if len(parts) == 1 else f"concat({', '.join(map(str, parts))}, axis={axis_of(a.get('dim', 0), parts[0].rank)})"


@rule("stack")
def stack(e, a):
    axis = a.dim + a.tensors[0].rank + 1 if a.dim < 0 else a.dim
    index = ", ".join([":"] * axis + ["None"] + [":"] * (a.tensors[0].rank - axis))
    parts = [f"{part}[{index}]" if part.rank else f"reshape({part}, [1])" for part in a.tensors]
    return f"concat({', '.join(parts)}, axis={axis})" if len(parts) > 1 else parts[0]


@rule("split", "chunk", "split_with_sizes", "tensor_split", "unsafe_split", "unsafe_chunk")
def split(e, a):
    axis, start, parts = axis_of(a.get("dim", 0), e.input(a).rank), 0, []
    for shape in e.shapes:
        end = make("+", start, shape[axis])
        parts.append(indexed(e.input(a), axis, f"{text(start)}:{text(end)}"))
        start = end
    return parts


@rule("unbind")
def unbind(e, a):
    axis = axis_of(a.get("dim", 0), a.self.rank)
    return [indexed(a.self, axis, str(i)) for i in range(len(e.shapes))]


@rule("flip")
def flip(e, a):
    return f"flip({a.self}, axis={list_text(axes_list(a.dims, a.self.rank))})"


@rule("roll")
def roll(e, a):
    x = a.self
    for shift, axis in zip(a.shifts, a.dims):
        axis = axis_of(axis, x.rank)
        at = text(make("-", x.shape[axis], shift)) if not is_number(shift) or shift > 0 else str(-shift)
        x = e.let(f"concat({indexed(x, axis, at + ':')}, {indexed(x, axis, ':' + at)}, axis={axis})", x.shape, x.dtype)
    return x


@rule("constant_pad_nd", "pad")
def pad(e, a):
    if a.get("mode", "constant") != "constant":
        raise Untold(f"padding of mode {a.mode}")
    widths = list(a.pad)
    axes = [a.self.rank - 1 - i for i in range(len(widths) // 2)]
    pairs = [(axis, before, after) for axis, before, after in zip(axes, widths[::2], widths[1::2]) if (before, after) != (0, 0)]
    if any(is_number(w) and w < 0 for w in widths):
        raise Untold("negative padding")
    if not pairs:
        return a.self
    value = a.get("value") or 0
    columns = [list_text([text(pair[i]) for pair in pairs]) for i in range(3)]
    return f"pad({a.self}, axis={columns[0]}, before={columns[1]}, after={columns[2]}{'' if value == 0 else ', value=' + number_text(float(value))})"


@rule("repeat", "tile")
def repeat(e, a):
    counts = list(a.get("repeats", a.get("dims")))
    x = a.self
    shape = [1] * (len(counts) - x.rank) + x.shape
    counts = [1] * (len(shape) - len(counts)) + counts
    apart = [each for size in shape for each in (1, size)]
    wide = [each for size, times in zip(shape, counts) for each in (times, size)]
    opened = e.let(f"reshape({x}, {shape_text(apart)})", apart, x.dtype)
    spread = e.let(f"broadcast({opened}, {shape_text(wide)})", wide, x.dtype)
    return f"reshape({spread}, {shape_text(e.shape)})"


@rule("repeat_interleave")
def repeat_interleave(e, a):
    if not is_number(a.repeats) or a.dim is None:
        raise Untold("repeat_interleave by a tensor")
    axis, x = axis_of(a.dim, a.self.rank), a.self
    index = ", ".join([":"] * (axis + 1) + ["None"] + [":"] * (x.rank - axis - 1))
    wide = x.shape[:axis + 1] + [a.repeats] + x.shape[axis + 1:]
    return f"reshape(broadcast({x}[{index}], {shape_text(wide)}), {shape_text(e.shape)})"


@rule("index_select")
def index_select(e, a):
    return f"take({a.self}, {a.index}, axis={axis_of(a.dim, a.self.rank)})"


@rule("embedding")
def embedding(e, a):
    return f"take({a.weight}, {a.indices}, axis=0)"


@rule("gather")
def gather(e, a):
    return f"gather({a.self}, {a.index}, axis={axis_of(a.dim, a.self.rank)})"


@rule("index")
def index(e, a):
    given = [(axis, each) for axis, each in enumerate(a.indices) if each is not None]
    if len(given) != 1 or given[0][1].dtype == "bool":
        raise Untold("indexing by several tensors or by a condition")
    return f"take({a.self}, {given[0][1]}, axis={given[0][0]})"


def triangle(relation):
    def make_triangle(e, a):
        rows, columns = a.self.shape[-2:]
        shift = "" if a.diagonal == 0 else f" + {operand(a.diagonal)}"
        inside = f"arange({text(columns)}) {relation} arange({text(rows)})[:, None]{shift}"
        if a.self.dtype == "bool":
            everywhere = any(each.startswith(f"{a.self} = broadcast((0 == 0), ") for each in e.statements)
            return inside if everywhere and a.self.rank == 2 else f"{inside} and {a.self}"
        return f"where({inside}, {a.self}, {'0.0' if a.self.real else '0'})"
    return make_triangle


rule("triu")(triangle(">="))
rule("tril")(triangle("<="))


@rule("arange")
def arange(e, a):
    start, end, step = a.get("start", 0), a.end, a.get("step", 1)
    if step != 1 or isinstance(start, float) or isinstance(end, float):
        length = e.shape[0]
        scaled = f"arange({text(length)})" + ("" if step == 1 else f" * {operand(step)}")
        return scaled if start == 0 else f"{scaled} + {operand(start)}"
    return f"arange({text(end)})" if start == 0 else f"arange({text(start)}, {text(end)})"


def filled(e, value):
    if e.dtype == "bool":
        number = "(0 == 0)" if value else "(0 == 1)"
    else:
        number = number_text(float(value)) if e.dtype[0] in "fb" else operand(value)
    return f"broadcast({number}, {shape_text(e.shape)})" if e.shape else number


for _name, _value in {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1, "new_zeros": 0, "new_ones": 1, "empty": 0, "new_empty": 0,
                      "empty_like": 0, "scalar_tensor": None}.items():
    RULES[_name] = lambda e, a, value=_value: filled(e, a.s if value is None else value)


@rule("full", "full_like", "new_full", "fill")
def full(e, a):
    value = a.get("fill_value", a.get("value"))
    return f"broadcast({value}, {shape_text(e.shape)})" if isinstance(value, Value) else filled(e, value)


@rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(e, a):
    n, c, *rest = a.self.shape
    apart, turned_ = [n, a.groups, make("//", c, a.groups), *rest], [n, make("//", c, a.groups), a.groups, *rest]
    opened = e.let(f"reshape({a.self}, {shape_text(apart)})", apart, a.self.dtype)
    swapped = e.let(f"permute({opened}, {list_text([0, 2, 1] + list(range(3, len(apart))))})", turned_, a.self.dtype)
    return f"reshape({swapped}, {shape_text(e.shape)})"
