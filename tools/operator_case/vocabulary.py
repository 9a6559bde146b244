"""What the statements of a problem file mean in PyTorch, and random operands."""
import random

import torch

DTYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn,
          "e5m2": torch.float8_e5m2, "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "bool": torch.bool}


def widened(x):
    """Values are real (float64), integer (int64) or boolean."""
    return x if x.dtype == torch.bool else x.double() if x.dtype.is_floating_point else x.long()


def real(x):
    return torch.as_tensor(x, dtype=torch.float64)


def divide(a, b):  # PyTorch's own 1 / x multiplies by the reciprocal
    return a / b if not (torch.is_tensor(a) or torch.is_tensor(b)) else torch.div(torch.as_tensor(a), torch.as_tensor(b))


def power(a, b):  # with whole tensors: PyTorch has short cuts for numbers
    if not (torch.is_tensor(a) or torch.is_tensor(b)):
        return a**b
    return torch.pow(*(t.contiguous() for t in torch.broadcast_tensors(real(a), real(b))))


def axes(x, axis):
    return list(range(x.dim())) if axis is None else axis if isinstance(axis, list) else [axis]


def over(function, needs_real=False):
    """A reduction over one axis, a list of axes or all."""
    def reduce(x, axis=None, keepdims=False):
        x = x.double() if needs_real else x
        over_axes = axes(x, axis)
        return function(x, over_axes, keepdims) if over_axes else function(x.reshape(x.shape + (1,)), [-1], False)
    return reduce


def one_by_one(function):
    def reduce(x, over_axes, keepdims):
        for axis in sorted((a % x.dim() for a in over_axes), reverse=True):
            x = function(x, dim=axis, keepdim=keepdims)
        return x
    return over(reduce)


def pick(function):
    return lambda x, axis=None, keepdims=False: (
        function(x, dim=axis, keepdim=keepdims) if axis is not None or x.dim() > 0 else function(x.reshape(1), dim=0))


def take(x, index, axis=0):
    axis %= x.dim()
    return x.index_select(axis, index.reshape(-1)).reshape(x.shape[:axis] + index.shape + x.shape[axis + 1:])


def extreme(function):
    return lambda a, b: function(*torch.broadcast_tensors(*promoted(a, b)))


def promoted(*values):
    tensors = [torch.as_tensor(v) for v in values]
    dtype = torch.float64 if any(t.dtype.is_floating_point for t in tensors) else tensors[0].dtype
    return [t.to(dtype) for t in tensors]


VOCABULARY = {
    **DTYPES, "true": True, "false": False, "inf": torch.tensor(float("inf"), dtype=torch.float64),
    "nan": torch.tensor(float("nan"), dtype=torch.float64),
    "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_not": torch.logical_not,
    "divide": divide, "power": power,
    **{name: getattr(torch, name) for name in
       "abs sign floor ceil trunc round isnan isfinite square exp exp2 expm1 log log2 log1p sqrt rsqrt tanh erf sin cos relu sigmoid "
       "matmul tan asin acos atan sinh cosh asinh acosh atanh erfc log10 lgamma".split()},
    **{name: (lambda f: lambda a, b: f(*torch.broadcast_tensors(real(a), real(b))))(getattr(torch, name)) for name in ("atan2", "hypot")},
    **{name: getattr(torch.nn.functional, name) for name in "selu mish hardswish hardsigmoid softsign relu6".split()},
    "leaky_relu": lambda x, slope=0.01: torch.nn.functional.leaky_relu(x, slope), "elu": lambda x, alpha=1: torch.nn.functional.elu(x, alpha),
    "celu": lambda x, alpha=1: torch.nn.functional.celu(x, alpha),
    "hardtanh": lambda x, low=-1, high=1: torch.nn.functional.hardtanh(x, low, high),
    "pow": power, "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "minimum": extreme(torch.minimum), "maximum": extreme(torch.maximum),
    "clamp": lambda x, low, high: torch.minimum(torch.maximum(*torch.broadcast_tensors(*promoted(x, low))), promoted(x, high)[1]),
    "where": lambda condition, a, b: torch.where(condition, *promoted(a, b)),
    "cast": lambda x, dtype, saturate=False: widened(torch.as_tensor(x).to(dtype)),
    "sum": over(lambda x, a, k: torch.sum(x, a, k)), "mean": over(torch.mean, True),
    "var": lambda x, axis=None, correction=0, keepdims=False: over(
        lambda x, a, k: torch.var(x, a, correction=correction, keepdim=k), True)(x, axis, keepdims),
    "prod": one_by_one(torch.prod), "max": over(torch.amax), "min": over(torch.amin), "any": over(torch.any), "all": over(torch.all),
    "argmax": pick(torch.argmax), "argmin": pick(torch.argmin), "cumsum": lambda x, axis=-1: torch.cumsum(x, axis),
    "softmax": lambda x, axis=-1: torch.softmax(x, axis), "log_softmax": lambda x, axis=-1: torch.log_softmax(x, axis),
    "logsumexp": lambda x, axis=-1, keepdims=False: torch.logsumexp(x, axis, keepdims),
    "transpose": lambda x: x.transpose(-1, -2), "permute": lambda x, axes: x.permute(axes), "reshape": lambda x, shape: x.reshape(shape),
    "broadcast": torch.broadcast_to, "concat": lambda *parts, axis=-1: torch.cat(parts, axis), "take": take,
    "arange": lambda a, b=None: torch.arange(a, b) if b is not None else torch.arange(a),
}


class Random(random.Random):
    """Random shapes and operands; an operand is its dtype in problem files and a tensor of what PyTorch computes with."""

    def shape(self, least_rank=0, most_rank=5, most=24, least_size=1):
        while True:
            rank = self.randint(least_rank, most_rank)
            shape = [self.choice([1, 2, 2, 3, 3, 4, 5, 7]) for _ in range(rank)]
            if rank == 1:
                shape = [self.randint(1, most)]
            if least_size == 0 and rank > 0 and self.random() < 0.06:
                shape[self.randrange(rank)] = 0
            count = 1
            for size in shape:
                count *= size
            if count <= most:
                return shape

    def broadcast_shapes(self, count, **limits):
        """Shapes that broadcast together."""
        whole = self.shape(**limits)
        shapes = [whole]
        for _ in range(count - 1):
            kept = whole[self.randint(0, len(whole)):] if self.random() < 0.3 else list(whole)
            shapes.append([1 if self.random() < 0.25 else size for size in kept])
        self.shuffle(shapes)
        return shapes

    def fill(self, shape, draw, dtype):
        count = 1
        for size in shape:
            count *= size
        return torch.tensor([draw() for _ in range(count)], dtype=dtype).reshape(shape)

    def real(self, shape, *styles, low=-8.0, high=8.0):
        style = self.choice(styles or ("decimal", "decimal", "wide", "special", "whole"))
        draw = {
            "decimal": lambda: round(self.uniform(low, high), 2),
            "wide": lambda: float(f"{self.gauss(0, 1) * 10 ** self.randint(-6, 6):.3g}"),
            "huge": lambda: float(f"{self.gauss(0, 1) * 10 ** self.randint(-300, 300):.3g}"),
            "special": lambda: self.choice([float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1.0, -1.0, 5e-324, -1e-310, 1e308, 0.3, -2.5, 7.0]),
            "limits": lambda: self.choice([float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1.0, -1.0, 1e17, -1e200, 0.3, -2.5, 7.0]),
            "halves": lambda: self.randint(-12, 12) / 2,
            "whole": lambda: float(self.randint(-4, 4)),
            "positive": lambda: round(self.uniform(0.05, high), 2),
            "near one": lambda: round(self.choice([-1, 1]) * self.uniform(0.5, 2), 2),
        }[style]
        return "f64", self.fill(shape, draw, torch.float64)

    def integer(self, shape, low=-9, high=9, but=None):
        def draw():
            value = self.randint(low, high)
            return draw() if value == but else value
        return self.choice(["i64", "i32"]) if max(abs(low), abs(high)) < 2**31 else "i64", self.fill(shape, draw, torch.int64)

    def boolean(self, shape):
        return "bool", self.fill(shape, lambda: self.random() < 0.5, torch.bool)

    def narrow(self, shape):
        """Values of a narrow floating-point type."""
        name = self.choice(["f32", "bf16", "f16", "e4m3", "e5m2"])
        return name, self.real(shape, "decimal", "whole")[1].to(DTYPES[name]).double()

    def axis(self, rank):
        axis = self.randrange(rank)
        return axis - rank if self.random() < 0.5 else axis

    def axes(self, rank):
        """", axis=…" of a reduction; may be empty."""
        form = self.random()
        if rank == 0 or form < 0.15:
            return ""
        if form < 0.5:
            return f", axis={self.axis(rank)}"
        chosen = self.sample(range(rank), self.randint(1, rank))
        return f", axis={[a - rank if self.random() < 0.3 else a for a in chosen]}"

    def keepdims(self):
        return self.choice(["", "", ", keepdims=true", ", keepdims=false"])
