"""Records a call of a candidate that is written in Triton, and compiles its kernels to PTX; neither needs a GPU. Started by kw in a jail
(src/toolchain/triton.cc):

    python -I -B triton_worker.py FOLDER PACKAGE PACKAGES

FOLDER holds `candidate.py` and `request.json`: {"path": the candidate's own, "target": {"number", "multiprocessors", "shared_bytes",
"registers"}} and "seed" and "arguments" of a call to record (recording.py says what is written), or the "kernel" to compile, one of
those that a recording names; with neither the file is only imported. PACKAGE holds this package, PACKAGES Triton.

kernel.ptx and kernel.json {"name", "warps", "shared_bytes", "cluster", "cooperative", "dependent", "scratch_bytes": [of a block, by parameter]}
are what comes of a kernel.

Recording: Triton's own JIT specialises arguments and evaluates grids; in place of its compiler it gets ours, which writes down what is to be
compiled. So a kernel is compiled once for all workloads that need it, by a process that knows nothing of workloads. A kernel that is tuned
(triton.autotune) takes the first of its configurations: without a GPU none has a time.
"""

import dataclasses
import json
import linecache
import os
import struct
import sys
import traceback
import types

PTX_VERSION = 87   # what Triton's own assembler would take; a kernel may ask for another one
FORMATS = {"i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "fp16": "e",
           "fp32": "f", "f32": "f", "fp64": "d"}


def bytes_of(kind, value):
    """A scalar argument as the kernel's parameter."""
    if kind == "bf16":
        return struct.pack("<f", value)[2:]
    if kind not in FORMATS:
        raise recording.Refused("call", f"an argument of type {kind} cannot be recorded")
    return struct.pack("<" + FORMATS[kind], value)


def flatten(kinds, values):
    """Types and values of a kernel's arguments, tuples and descriptors in parts, without what is a constant."""
    for kind, value in zip(kinds, values):
        if isinstance(kind, tuple):
            yield from flatten(kind, value)
        elif kind.startswith("tensordesc"):   # as kernels take them whose target has no tensor maps
            rank, nan = len(value.shape), getattr(value, "padding", "") == "nan"
            yield from flatten(["*"] + ["i64"] * 2 * rank + ["i1"] + ["i32"] * rank + ["i64"] * rank,
                               [value.base, *value.shape, *value.strides, nan, *value.shape, *value.strides])
        elif kind != "constexpr":
            yield kind, value


def argument(kind, value):
    if not kind.startswith("*"):
        return {"bytes": bytes_of(kind, value).hex()}
    if value is None:
        return {"bytes": "00" * 8}
    if not isinstance(value, recording.Tensor):
        raise recording.Refused("launch", "a kernel is given a pointer that is no tensor of the entry's")
    return {"buffer": value._buffer, "offset": value.byte_offset}


class Planned:
    """A kernel as Triton launches it, before it is compiled."""

    function = packed_metadata = None

    def __init__(self, recorder, source, text):
        self._recorder, self._kinds, self._text = recorder, list(source.signature.values()), text

    def launch_metadata(self, grid, stream, *values):
        return None

    def run(self, x, y, z, stream, function, packed, metadata, enter_hook, exit_hook, *values):
        self._recorder.launch(self._text, [x, y, z], [argument(kind, value) for kind, value in flatten(self._kinds, values)])

    def __getattr__(self, name):
        if name in ("result", "__deepcopy__"):
            raise AttributeError(name)
        raise recording.Refused("call", f"the entry asks for .{name} of a compiled kernel, and kernels are compiled when it has returned",
                                "Decide from shapes, attributes and constants.")


# ---- what is to be compiled, as text ---------------------------------------------------------------------------------------------


def kernels_of(module):
    """The candidate's functions for the GPU, by name, out of what they are wrapped in."""
    from triton.runtime.jit import JITFunction
    found = {}
    for name, value in vars(module).items():
        while not isinstance(value, JITFunction) and hasattr(value, "fn") and not callable(getattr(value, "code", None)):
            value = value.fn
        if isinstance(value, JITFunction):
            found[name] = value
    return found


def encode(value, names):
    """`names`: of kernels, by identity."""
    import triton.language as tl
    if isinstance(value, tl.constexpr):
        value = value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, (tuple, list)):
        return {"tuple": [encode(each, names) for each in value]}
    if isinstance(value, dict):
        return {"map": [[encode(key, names), encode(each, names)] for key, each in value.items()]}
    if isinstance(value, tl.dtype):
        return {"dtype": value.name}
    if id(value) in names:
        return {"kernel": names[id(value)]}
    raise recording.Refused("call", f"{value!r} cannot be a constant of a kernel here",
                            "Constants are numbers, strings, element types, tuples of them, and functions of the candidate's top level.")


def decode(value, kernels):
    import triton.language as tl
    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == "float":
        return float.fromhex(inner)
    if kind == "tuple":
        return tuple(decode(each, kernels) for each in inner)
    if kind == "map":
        return {decode(key, kernels): decode(each, kernels) for key, each in inner}
    return tl.dtype(inner) if kind == "dtype" else kernels[inner]


def compiler_that_writes_down(recorder, module):
    def compile(source, target=None, options=None, **rest):
        names = {id(kernel): name for name, kernel in kernels_of(module).items()}
        if id(source.fn) not in names:
            raise recording.Refused("call", f"the kernel {source.fn.__name__} is not at the candidate's top level", "Define it there, under a name of its own.")
        parts = {"fn": source.fn, "key": source.fn.cache_key, "signature": source.signature, "constants": source.constants,
                 "attributes": source.attrs, "options": {key: value for key, value in options.items() if key != "extern_libs"}}
        return Planned(recorder, source, json.dumps(encode(parts, names)))
    return compile


def compile_kernel(folder, text, module, compile, target):
    from triton.compiler import ASTSource
    parts = decode(json.loads(text), kernels_of(module))
    if parts["fn"].cache_key != parts["key"]:
        raise recording.Refused("call", f"the kernel {parts['fn'].__name__} depends on global variables that the entry changes",
                                "Hand it such values as tl.constexpr.")
    source = ASTSource(parts["fn"], parts["signature"], parts["constants"], parts["attributes"])
    kernel = compile(source, target=target, options=parts["options"])
    about = kernel.metadata
    scratch = [getattr(about, what + "_scratch_size", 0) or 0 for what in ("global", "profile")]
    ptx = kernel.asm["ptx"]
    with open(os.path.join(folder, "kernel.ptx"), "w", encoding="utf-8") as file:
        file.write(ptx.decode() if isinstance(ptx, bytes) else ptx)
    with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
        json.dump({"name": about.name, "warps": about.num_warps, "shared_bytes": about.shared, "cluster": list(about.cluster_dims),
                   "cooperative": bool(getattr(about, "launch_cooperative_grid", False)), "dependent": bool(getattr(about, "launch_pdl", False)),
                   "scratch_bytes": scratch}, file)


# ---- Triton without a GPU --------------------------------------------------------------------------------------------------------


class Utilities:
    """What Triton, and programs that size their grids by it, ask of a device."""

    def __init__(self, target):
        self.properties = {"max_shared_mem": target["shared_bytes"], "multiprocessor_count": target["multiprocessors"], "max_num_regs": target["registers"],
                           "warpSize": 32}

    def get_device_properties(self, device):
        return self.properties


class Driver:
    def __init__(self, gpu, target):
        self.gpu, self.utils = gpu, Utilities(target)

    def get_current_target(self):
        return self.gpu

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=None):
        return divmod(self.gpu.arch, 10)

    def get_benchmarker(self):
        return lambda call, quantiles=None, **options: [1.0] * len(quantiles or [0])

    def map_python_to_cpp_type(self, kind):
        return kind


def set_up(target):
    """Triton with our driver, and with its compiler for NVIDIA's GPUs less the assembler. The GPU, as Triton says it."""
    from triton import backends
    from triton.backends.compiler import GPUTarget
    from triton.runtime import autotuner, driver
    theirs = backends.backends["nvidia"]

    class Compiler(theirs.compiler):
        def __init__(self, gpu):
            super().__init__(gpu)
            self.binary_ext = "ptx"

        def parse_options(self, options):
            return super().parse_options({**options, "ptx_version": options.get("ptx_version") or PTX_VERSION})

        def add_stages(self, stages, *rest):
            super().add_stages(stages, *rest)
            del stages["cubin"]

        def hash(self):
            return f"{PTX_VERSION}-{self.target.arch}"

    gpu = GPUTarget("cuda", target["number"], 32)
    ours = Driver(gpu, target)
    backends.backends["nvidia"] = dataclasses.replace(theirs, compiler=Compiler)
    driver.set_active(ours)
    autotuner.Autotuner.do_bench = property(lambda self: ours.get_benchmarker())
    return gpu


def element_types():
    import triton.language as tl
    names = {"bool": ("int1", 8), "i8": ("int8", 8), "u8": ("uint8", 8), "i16": ("int16", 16), "u16": ("uint16", 16), "i32": ("int32", 32),
             "u32": ("uint32", 32), "i64": ("int64", 64), "u64": ("uint64", 64), "e4m3": ("float8e4nv", 8), "e5m2": ("float8e5", 8),
             "f16": ("float16", 16), "bf16": ("bfloat16", 16), "f32": ("float32", 32), "f64": ("float64", 64),
             "ue8m0": ("uint8", 8), "i4": ("uint8", 4), "u4": ("uint8", 4), "e2m1": ("uint8", 4)}   # as bytes
    return {name: (getattr(tl, theirs), bits) for name, (theirs, bits) in names.items()}


# ---- the candidate ---------------------------------------------------------------------------------------------------------------


def load_candidate(text, path):
    """The candidate's module. Its file is not in the jail: Triton reads kernels' sources from what Python remembers of it."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    module = types.ModuleType("candidate")
    module.__file__ = path
    sys.modules["candidate"] = module
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def place_of(error, path):
    """Line and column in the candidate of what was raised."""
    if isinstance(error, SyntaxError):
        return (error.lineno or 0, error.offset or 0) if error.filename == path else (0, 0)
    node, kernel = getattr(error, "node", None), getattr(error, "src", None)
    if hasattr(node, "lineno") and isinstance(kernel, str):   # Triton's, counted from the kernel's first line
        text = "".join(linecache.cache[path][2])
        begin = text.find(kernel)
        if begin >= 0:
            return text[:begin].count("\n") + node.lineno, node.col_offset + 1
    line = 0
    for frame, at in traceback.walk_tb(error.__traceback__):
        line = at if frame.f_code.co_filename == path else line
    return line, 0


def failure_of(error, path):
    kind, notes, said = "crash", [], f"{type(error).__name__}: {error}"
    names = [each.__name__ for each in type(error).__mro__]
    if isinstance(error, recording.Refused):
        kind, notes, said = error.kind, list(error.notes), str(error)
    elif isinstance(error, SyntaxError):
        kind, said = "compile", error.msg
    elif "CompilationError" in names:
        while isinstance(error.__cause__, type(error)):   # a call within the kernel: where it went wrong, not where it began
            error = error.__cause__
        kind, said = "compile", getattr(error, "error_message", None) or str(error.__cause__ or error)
    elif isinstance(error, ModuleNotFoundError) and error.name == "torch":
        kind, said = "call", "the candidate imports torch, which is not there while recording"
        notes = ["Workspace comes from kernelwright.empty() and zeros()."]
    line, column = place_of(error, path)
    return {"kind": kind, "message": said[:4000], "notes": notes, "line": line, "column": column}


def answer(folder, request):
    import triton.compiler

    import kernelwright.candidate as entry_point
    gpu, compile = set_up(request["target"]), triton.compiler.compile
    recorder = recording.Recorder(request, element_types()) if "arguments" in request else None
    entry_point.recorder = recorder
    with open(os.path.join(folder, "candidate.py"), encoding="utf-8") as file:
        module = load_candidate(file.read(), request["path"])
    if "kernel" in request:
        compile_kernel(folder, request["kernel"], module, compile, gpu)
    elif recorder is not None:
        if len(entry_point.entries) != 1:
            raise recording.Refused("contract", f"the candidate has {len(entry_point.entries)} entries; one function marked @kernelwright.entry is meant")
        triton.compiler.compile = compiler_that_writes_down(recorder, module)
        function = entry_point.entries[0]
        function(**recorder.bind(function))
        recorder.write(folder)


def main(folder, package, packages):
    global recording
    sys.path[:0] = [package]
    sys.path.append(packages)
    os.environ["TRITON_CACHE_DIR"] = os.path.join(os.environ.get("TMPDIR", folder), "triton")
    from kernelwright import recording
    with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
        request = json.load(file)
    try:
        answer(folder, request)
        return 0
    except BaseException as error:   # SystemExit too: the file is not ours
        with open(os.path.join(folder, "failure.json"), "w", encoding="utf-8") as file:
            json.dump(failure_of(error, request["path"]), file)
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
