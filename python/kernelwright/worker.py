"""Calls one function of a problem's section `python:`. Started by kw in a jail (src/problem/python_calls.cc).

    python -I worker.py FOLDER PACKAGES

FOLDER holds `source.py` (the section), `operands` (the tensors one after another, as little-endian doubles) and `call`,
one statement a line:

    line N                    of the problem file where source.py starts
    function NAME
    precision exact|single|double            once for each evaluation
    tensor real|integer|boolean SIZES        operands in order; or
    number real|integer VALUE
    result OUTPUT KIND SIZES                 what is wanted, and what it must be

Written: `results`, for each precision the results in order as doubles; or `failure` (a line number of the problem file or 0,
then a message) with exit code 1. PACKAGES is the folder that holds torch.

Floating operands are float64 (exact, double) or rounded to float32 (single); integer ones are int64. Every floating dtype that
the functions ask for (casts, factories, autocast) becomes that of the operands:

exact           nothing of their own rounding is left;
single, double  what they cast to a narrower dtype, or make in one, is rounded to it, and then kept and computed with in the
                operands' dtype, as a kernel does that loads f16 and computes in f32.

Reading the bits of a floating tensor (`view(dtype)`) is refused. What asks for a dtype without torch (numpy,
`x.dtype == torch.float16`) sees the operands'. Always: on the CPU whatever device is named, one thread, torch.compile and
TorchScript off. Drawing random numbers is refused: no two evaluations would agree.
"""

import os
import sys

FLOATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float16", "bfloat16",
          "float32", "float64")  # as far as this torch has them
COMPLEX = ("complex32", "complex64", "complex128")
PLACE = "section python"  # file name of the functions in tracebacks


class Refused(Exception):
    """What the functions of a problem may not do, or gave wrong."""


class Call:
    """The file `call`, read."""

    def __init__(self, folder):
        self.precisions, self.operands, self.results = [], [], []
        with open(os.path.join(folder, "source.py"), encoding="utf-8", errors="surrogateescape", newline="") as file:
            self.source = file.read()
        with open(os.path.join(folder, "call"), encoding="utf-8") as file:
            for words in map(str.split, file):
                if words[0] == "line":
                    self.line = int(words[1])
                elif words[0] == "function":
                    self.function = words[1]
                elif words[0] == "precision":
                    self.precisions.append(words[1])
                elif words[0] == "number":
                    self.operands.append(int(float(words[2])) if words[1] == "integer" else float(words[2]))
                elif words[0] == "tensor":
                    self.operands.append((words[1], [int(size) for size in words[2:]]))
                elif words[0] == "result":
                    self.results.append((int(words[1]), words[2], [int(size) for size in words[3:]]))


class Keeping:
    """Keeps what is floating in one dtype, `base`; rounds to what was asked for, if `rounding`."""

    def __init__(self, torch, base, rounding):
        self.torch, self.base, self.rounding = torch, base, rounding
        self.floats = {getattr(torch, name) for name in FLOATS if hasattr(torch, name)}
        self.complexes = {getattr(torch, name) for name in COMPLEX}

    def widened(self, value):
        if isinstance(value, self.torch.dtype):
            wide_complex = self.torch.complex128 if self.base == self.torch.float64 else self.torch.complex64
            return self.base if value in self.floats else wide_complex if value in self.complexes else value
        return value

    def call(self, func, args, kwargs):
        """func with the dtypes among its arguments widened."""
        values = [*args, *kwargs.values()]
        asked = next((value for value in values if isinstance(value, self.torch.dtype) and value in self.floats), None)
        result = func(*map(self.widened, args), **{key: self.widened(value) for key, value in kwargs.items()})
        if isinstance(result, self.torch.Tensor) and any(result is value for value in values) and asked:
            result = result.clone()  # a cast, which must not give its operand to be written to
        return self.kept(result, asked)

    def kept(self, result, asked=None):
        if not isinstance(result, self.torch.Tensor) or result.dtype not in self.floats:
            return result
        narrow = asked or result.dtype
        if self.rounding and narrow.itemsize < self.base.itemsize:
            result = result.double().to(narrow).double()  # not from float32, which asks fbgemm, and that /proc/cpuinfo
        return result if result.dtype == self.base else result.to(self.base)


def make_modes(torch, keeping):
    """The two places where torch lets its calls be seen: as written in Python, and as operators."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    casts = {"half": torch.float16, "bfloat16": torch.bfloat16, "float": torch.float32, "double": torch.float64}
    legacy = {"HalfTensor": "half", "BFloat16Tensor": "bfloat16", "FloatTensor": "float", "DoubleTensor": "double"}

    def on_cpu(value):
        if isinstance(value, torch.device) or (isinstance(value, str) and value.split(":")[0] == "cuda"):
            return torch.device("cpu")
        return value

    class Functions(TorchFunctionMode):
        """torch as the functions write it: torch.tensor(list, dtype) is known here alone."""

        def __torch_function__(self, func, types, args=(), kwargs=None):
            args = tuple(map(on_cpu, args))
            kwargs = {key: on_cpu(value) for key, value in (kwargs or {}).items()}
            name = getattr(func, "__name__", "")
            if name == "cuda":
                return args[0]
            if name == "type" and len(args) > 1 and isinstance(args[1], str):
                name = legacy.get(args[1].rsplit(".", 1)[-1], name)
            if name in casts:
                return keeping.kept(args[0].to(keeping.base, copy=True), casts[name])
            return keeping.call(func, args, kwargs)

    class Operators(TorchDispatchMode):
        """What that comes to, with what C++ decides: autocast, randomness."""

        @classmethod
        def _should_skip_dynamo(cls):   # torch.compile is off, and importing it only to skip this takes longer than most calls
            return False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if torch.Tag.nondeterministic_seeded in func.tags:
                raise Refused(f"it draws random numbers ({func}); take them as an input")
            if func is torch.ops.aten.view.dtype and (args[0].is_floating_point() or args[1].is_floating_point):
                raise Refused("it reads a floating tensor by its bits, view(dtype), which are not those of its dtype here")
            return keeping.call(func, args, kwargs or {})

    return Functions(), Operators()


def operands_of(torch, call, data, floating):
    """Fresh tensors and numbers, as the functions may write into them."""
    dtypes = {"real": floating, "integer": torch.int64, "boolean": torch.bool}
    operands, at = [], 0
    for operand in call.operands:
        if not isinstance(operand, tuple):
            operands.append(operand)
            continue
        kind, shape = operand
        count = 1
        for size in shape:
            count *= size
        values = torch.frombuffer(data, dtype=torch.float64, count=count, offset=at) if count else torch.empty(0, dtype=torch.float64)
        at += 8 * count
        operands.append(values.reshape(shape).to(dtypes[kind], copy=True))
    return operands


def doubles_of(torch, given, wanted):
    """One result as bytes, after checking that it is what the problem says."""
    output, kind, shape = wanted
    values = list(given) if isinstance(given, (tuple, list)) else list(given.values()) if isinstance(given, dict) else [given]
    if output >= len(values):
        raise Refused(f"it gives {len(values)} values; the problem asks for output={output}, which counts from 0")
    value = torch.as_tensor(values[output]).detach()
    if list(value.shape) != shape:
        raise Refused(f"output {output} has shape {list(value.shape)}; the problem says {shape}")
    is_kind = {
        "real": value.is_floating_point() or not (value.is_complex() or value.dtype == torch.bool),
        "integer": not (value.is_floating_point() or value.is_complex() or value.dtype == torch.bool),
        "boolean": value.dtype == torch.bool,
    }[kind]
    if not is_kind:
        raise Refused(f"output {output} is {str(value.dtype).removeprefix('torch.')}; the problem says that it is {kind}")
    return value.to(torch.float64).contiguous().reshape(-1).numpy().astype("<f8").tobytes()


def evaluate(torch, call, data, precision):
    floating = torch.float32 if precision == "single" else torch.float64
    torch.set_default_dtype(floating)
    functions, operators = make_modes(torch, Keeping(torch, floating, rounding=precision != "exact"))
    operands = operands_of(torch, call, data, floating)
    names = {"__name__": "kernelwright_section"}
    with operators, functions:
        exec(compile("\n" * (call.line - 1) + call.source, PLACE, "exec"), names)
        if not callable(names.get(call.function)):
            raise Refused(f"the section defines no function {call.function}")
        given = names[call.function](*operands)
    return [doubles_of(torch, given, wanted) for wanted in call.results]


def import_torch(packages):
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", PYTORCH_JIT="0", CUDA_VISIBLE_DEVICES="")
    if packages not in sys.path:
        sys.path.append(packages)
    import torch

    torch.set_num_threads(1)
    torch.set_deterministic_debug_mode("warn")   # use_deterministic_algorithms() imports torch.compile's world
    # Attention by its formula: the fused operators take a seed, whether or not they drop anything.
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.compile = lambda model=None, **options: model if model is not None else lambda inner: inner
    return torch


def line_of(error):
    """The innermost line of the section on the way to the error; 0 when it is on none."""
    if isinstance(error, SyntaxError) and error.filename == PLACE:
        return error.lineno or 0
    line, frame = 0, error.__traceback__
    while frame:
        if frame.tb_frame.f_code.co_filename == PLACE:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def main(folder, packages):
    call = Call(folder)
    with open(os.path.join(folder, "operands"), "rb") as file:
        data = bytearray(file.read())
    try:
        torch = import_torch(packages)
        with open(os.path.join(folder, "results"), "wb") as file:
            for precision in call.precisions:
                file.writelines(evaluate(torch, call, data, precision))
        return 0
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: the section is not ours
        said = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
        with open(os.path.join(folder, "failure"), "w", encoding="utf-8", errors="replace") as file:
            file.write(f"{line_of(error)}\n{said[:4000]}")
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
