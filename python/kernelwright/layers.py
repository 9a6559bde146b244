"""Rules: convolutions, pooling, normalisation."""

from .operators import expanded, keyword, operand, per_channel, rule
from .sizes import Untold, is_number, make, product, shape_text, text


def convolved(e, a, function, extra=""):
    x = a.get("input", a.get("self"))
    rank, kernel = x.rank - 2, a.weight.shape[2:]
    e.multiplies(e.shape if function == "conv" else x.shape, product(a.weight.shape[1:]))
    padding, stride, dilation = a.padding, expanded(a.stride, rank), expanded(a.dilation, rank)
    if isinstance(padding, str) or (isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], str)):
        if padding != "same":
            padding = [0]
        else:
            spread = [make("*", d, make("-", k, 1)) for d, k in zip(dilation, kernel)]
            if any(not is_number(s) or s % 2 for s in spread):
                raise Untold("padding 'same' of an even kernel")
            padding = [s // 2 for s in spread]
    arguments = keyword("step", stride, 1) + keyword("padding", expanded(padding, rank), 0) + extra + keyword("dilation", dilation, 1)
    if a.groups != 1:
        arguments += f", groups={text(a.groups)}"
    if a.bias is None:
        return f"{function}({x}, {a.weight}{arguments})"
    product_ = e.let(f"{function}({x}, {a.weight}{arguments})", e.shape, e.dtype)
    return f"{product_} + {per_channel(e, a.bias, x.rank)}"


@rule("conv1d", "conv2d", "conv3d")
def conv(e, a):
    return convolved(e, a, "conv")


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(e, a):
    rank = a.get("input", a.get("self")).rank - 2
    return convolved(e, a, "conv_transpose", keyword("output_padding", expanded(a.output_padding, rank), 0))


@rule("convolution")
def convolution(e, a):
    return conv_transpose(e, a) if a.transposed else convolved(e, a, "conv")


def pooled(e, a, function, more=""):
    kernel = list(a.kernel_size)
    rank = len(kernel) if len(kernel) > 1 else max(1, int(e.operator[-2]) if e.operator[-1] == "d" else 1)
    kernel, stride = expanded(kernel, rank), list(a.stride) if a.stride else kernel
    arguments = keyword("step", expanded(stride, rank), None) if expanded(stride, rank) != kernel else ""
    arguments += keyword("padding", expanded(a.padding, rank), 0)
    arguments += keyword("dilation", expanded(a.get("dilation", [1]), rank), 1)
    return f"{function}({a.self}, {shape_text(kernel)}{arguments}{', ceil=true' if a.ceil_mode else ''}{more})"


@rule("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(e, a):
    return pooled(e, a, "max_pool")


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(e, a):
    if a.get("divisor_override") is not None:
        raise Untold("a divisor of its own")
    padded = any(each != 0 for each in expanded(a.padding, 1))
    return pooled(e, a, "avg_pool", "" if a.count_include_pad or not padded else ", count_padding=false")


@rule("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(e, a):
    return adaptive(e, a, "mean", "avg_pool")


@rule("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(e, a):
    return [adaptive(e, a, "max", "max_pool"), None]


def adaptive(e, a, reduction, pool):
    out = expanded(a.output_size, len(a.output_size))
    rank = len(out)
    size = a.self.shape[-rank:]
    out = [s if o is None else o for o, s in zip(out, size)]
    if all(o == s for o, s in zip(out, size)):
        return a.self
    if all(o == 1 for o in out):
        return f"{reduction}({a.self}, axis=[{', '.join(str(a.self.rank - rank + i) for i in range(rank))}], keepdims=true)"
    if all(is_number(s) and is_number(o) and s % o == 0 for o, s in zip(out, size)):
        return f"{pool}({a.self}, {shape_text([s // o for o, s in zip(out, size)])})"
    if all(not is_number(o) or is_number(s) for o, s in zip(out, size)):
        raise Untold("adaptive pooling of sizes that do not divide")
    raise Untold("adaptive pooling of a size that is an axis")


def normalised(e, x, axes, eps):
    """(x − mean) / sqrt(var + eps) over these axes."""
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    where = f"axis=[{', '.join(map(str, axes))}]" if len(axes) > 1 else f"axis={axes[0]}"
    center = e.let(f"mean({x}, {where}, keepdims=true)", shape, "f32", "mean")
    spread = e.let(f"var({x}, {where}, keepdims=true)", shape, "f32", "var")
    return e.let(f"({x} - {center}) * rsqrt({spread} + {operand(float(eps))})", x.shape, "f32", "normal")


def affine(e, x, weight, bias):
    """x · weight + bias, [C] at axis 1."""
    found = str(x)
    if weight is not None:
        found += f" * {per_channel(e, weight, x.rank)}"
    if bias is not None:
        found += f" + {per_channel(e, bias, x.rank)}"
    return x if found == str(x) else found


@rule("batch_norm", "native_batch_norm", "cudnn_batch_norm")
def batch_norm(e, a):
    x = a.input
    if a.get("training", a.get("train")):
        return affine(e, normalised(e, x, [i for i in range(x.rank) if i != 1], a.eps), a.weight, a.bias)
    mean, var = per_channel(e, a.running_mean, x.rank), per_channel(e, a.running_var, x.rank)
    normal = e.let(f"({x} - {mean}) * rsqrt({var} + {operand(float(a.eps))})", x.shape, "f32", "normal")
    return affine(e, normal, a.weight, a.bias)


@rule("instance_norm")
def instance_norm(e, a):
    if not a.use_input_stats:
        raise Untold("instance norm by running statistics")
    return affine(e, normalised(e, a.input, list(range(2, a.input.rank)), a.eps), a.weight, a.bias)


@rule("layer_norm", "native_layer_norm")
def layer_norm(e, a):
    rank = len(a.normalized_shape)
    normal = normalised(e, a.input, list(range(a.input.rank - rank, a.input.rank)), a.eps)
    found = str(normal) + (f" * {a.weight}" if a.weight is not None else "") + (f" + {a.bias}" if a.bias is not None else "")
    return normal if found == str(normal) else found


@rule("rms_norm")
def rms_norm(e, a):
    rank = len(a.normalized_shape)
    axes = ", ".join(str(i) for i in range(a.input.rank - rank, a.input.rank))
    eps = 1.1920928955078125e-07 if a.eps is None else float(a.eps)
    square = e.let(f"square({a.input})", a.input.shape, "f32")
    found = f"{a.input} * rsqrt(mean({square}, axis=[{axes}], keepdims=true) + {operand(eps)})"
    return found + (f" * {a.weight}" if a.weight is not None else "")


@rule("group_norm")
def group_norm(e, a):
    x, groups = a.input, a.num_groups
    n, c, *rest = x.shape
    apart = [n, groups, make("//", c, groups), *rest]
    e.groups.append(apart[2])   # of one channel each it were an instance norm
    opened = e.let(f"reshape({x}, {shape_text(apart)})", apart, "f32")
    normal = normalised(e, opened, list(range(2, len(apart))), a.eps)
    closed = e.let(f"reshape({normal}, {shape_text(x.shape)})", x.shape, "f32")
    return affine(e, closed, a.weight, a.bias)


@rule("glu")
def glu(e, a):
    axis = a.dim + a.self.rank if a.dim < 0 else a.dim
    half = make("//", a.self.shape[axis], 2)
    colon = ", ".join([":"] * axis + [""]) if axis else ""
    return f"{a.self}[{colon}:{text(half)}] * sigmoid({a.self}[{colon}{text(half)}:])"

