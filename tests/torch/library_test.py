"""What the functions of library rivals compute, on the CPU: cuBLASLt by fake_cublaslt.py, cuDNN by PyTorch's own operators, at every workload that
is not real, against the reference. 77 (skipped) where no Python has torch.

    library_test.py
"""

import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")


def torch_or_skip():
    """Where this Python has no torch, the one that kw would take."""
    try:
        import torch  # noqa: F401
    except ImportError:
        for python in (os.environ.get("KW_PYTHON"), os.path.join(ROOT, ".venv", "bin", "python")):
            if python and os.path.exists(python) and "KW_AGAIN" not in os.environ:
                os.execve(python, [python, "-B", *sys.argv], {**os.environ, "KW_AGAIN": "1"})
        print("SKIP: no Python with torch; KW_PYTHON names one")
        sys.exit(77)


if __name__ == "__main__":
    torch_or_skip()
sys.path[:0] = [HERE, os.path.join(ROOT, "python")]

import torch
import torch.nn.functional as F

from fake_cublaslt import FakeCublaslt
from kernelwright import cublaslt, cudnn, to_torch, torch_device
from kernelwright.expression_graph import NoOperator
from kernelwright.find_attention import FoundForCudnn
from kernelwright.find_product import FoundProduct
from kernelwright.library_function import LibraryFunction
from kernelwright.problem_file import ProblemFile
from library_cases import CASES, text_of

ALLOWED = {"i32": 0, "f16": 3e-3, "bf16": 2e-2, "f32": 1e-5}   # of an element and the root of the mean square; accumulation is exact here
MOST = 1 << 24                                       # elements of an input


def expect(holds, what):
    if not holds:
        sys.exit(f"library_test: {what}")


def workloads(text):
    """Name, axes and the line of each that is not real."""
    fixed = {name: int(size) for name, size in re.findall(r"\b([A-Z])\s*==\s*(\d+)", text)}
    for name, line in re.findall(r"^\s*(?:smallest|shape|emulator)\s+(\w+):(.*)", text, re.M):
        yield name, {**fixed, **{axis: int(size) for axis, size in re.findall(r"\b([A-Z])=(\d+)", line)}}, line


def drawn(tensor, axes, text, line, generator):
    """By the workload's distribution, else the input's own."""
    form = re.search(rf"\b{tensor.name} ~ (\w+)\(([^)]*)\)", line + " ~") or re.search(rf"^\s*{tensor.name}\s*:[^~]*~ (\w+)\(([^)]*)\)", text, re.M)
    form, numbers = form.group(1), [float(each) for each in form.group(2).split(",")]
    shape = eval(tensor.shape, {}, dict(axes))
    if form == "constant":
        values = torch.full(shape, numbers[0], dtype=torch.float64)
    elif form in ("integers", "sorted"):
        values = torch.randint(int(numbers[0]), int(numbers[1]) + 1, shape, generator=generator).double()
    elif form == "uniform":
        values = torch.rand(shape, generator=generator, dtype=torch.float64) * (numbers[1] - numbers[0]) + numbers[0]
    else:
        values = torch.randn(shape, generator=generator, dtype=torch.float64) * (numbers[1] if form == "normal" else 1)
    dtype = torch_device.DTYPES[tensor.dtype]
    return values.clamp(-448, 448).to(dtype) if tensor.dtype == "e4m3" else values.to(dtype)


def function_of(made, namespace, axes):
    namespace = dict(namespace)
    text = made.text()
    exec(compile(text, made.problem.name, "exec"), namespace)
    options = {axis: axes[axis] for axis in made.problem.axes if axis in made.used}

    def call(*arguments):
        torch.set_default_dtype(torch.float64 if made.style == "reference" else torch.float32)
        results = namespace[made.problem.name](*arguments, **options)
        return results if isinstance(results, tuple) else (results,)
    return call


def widened(arguments):
    return [each if each.dtype == torch.bool else each.double() if each.dtype.is_floating_point else each.long() for each in arguments]


def off(got, want):
    got, want = got.double(), want.double()
    scale = want.abs() + want.pow(2).mean().sqrt() + 1e-30
    return float(((got - want).abs() / scale).max())


def compared(text, manner, found, namespace):
    """Each style of the library's function with the reference, at each workload."""
    problem, count = ProblemFile(text), 0
    has_bytes = any(each.dtype in ("e4m3", "i8") for each in problem.inputs)
    for name, axes, line in workloads(text):
        generator = torch.Generator().manual_seed(11)
        inputs = [drawn(each, axes, text, line, generator) for each in problem.inputs]
        if any(each.numel() > MOST for each in inputs):
            continue
        wants = function_of(to_torch.Function(problem, "reference"), {}, axes)(*widened(inputs))
        for style in ("stored", "wide") + (() if manner == "cublaslt" and has_bytes else ("reference",)):
            gots = function_of(LibraryFunction(found.problem, style), namespace, axes)(*(widened(inputs) if style == "reference" else inputs))
            for tensor, got, want in zip(problem.outputs, gots, wants):
                place = f"{problem.name}, {manner}, {name}, {style}: {tensor.name}"
                expect(got.is_contiguous() and got.shape == want.shape, f"{place} is {list(got.shape)}, strides {got.stride()}, not a dense {list(want.shape)}")
                expect(style == "reference" or got.dtype == torch_device.DTYPES[tensor.dtype], f"{place} is {got.dtype}")
                allowed = 1e-9 if style == "reference" else max(ALLOWED[each.dtype] for each in problem.inputs + problem.outputs if each.dtype in ALLOWED)
                expect(off(got, want) <= allowed, f"{place} is {off(got, want):.2e} from the reference, more than {allowed}")
            count += 1
    return count


def texts():
    for path in sorted(glob.glob(os.path.join(ROOT, "problems", "*.problem"))):
        with open(path, encoding="utf-8") as file:
            yield file.read()
    for name, inputs, output, reference, *_ in CASES:
        yield text_of(name, inputs, output, reference)


def products():
    count, problems, clocked = 0, 0, []

    def clock(call):
        call()
        clocked.append(call)
        return 1.0 / len(clocked)   # the later, the faster
    for text in texts():
        for outer in (True, False):
            try:
                found = FoundProduct(ProblemFile(text), outer)
            except NoOperator:
                continue
            fake = FakeCublaslt()
            count += compared(text, "cublaslt", found, {"cublaslt": cublaslt.Cublaslt(fake, torch.empty(1 << 12, dtype=torch.uint8), clock)})
            problems += outer
            chosen = {each["algorithm"] for each in fake.calls}
            expect(fake.calls[-1]["algorithm"] == 0xA162 and chosen == {0xA160, 0xA162}, f"of the algorithms {chosen} the fastest that runs is taken")
            expect((31 in fake.calls[-1]) == ("scales of rows and columns" in found.what), "scales are the library's where it is said")
    print(f"cuBLASLt: {problems} problems and cases, {count} functions as the reference")


def compute_types():
    """Which the library is asked for, and what has no algorithm."""
    fake = FakeCublaslt()
    library = cublaslt.Cublaslt(fake, torch.empty(1 << 12, dtype=torch.uint8), lambda call: call() or 1.0)
    for dtype, to, words, wanted in ((torch.float32, torch.float32, {}, 68), (torch.float32, torch.float32, {"tf32": True}, 77), (torch.float16, torch.float32, {}, 68),
                                     (torch.float64, torch.float64, {}, 70), (torch.int8, torch.int32, {}, 72)):
        library.product(torch.ones(4, 8).to(dtype), torch.ones(16, 8).to(dtype).mT, to, **words)
        expect(fake.calls[-1]["compute"] == wanted, f"{dtype} is computed by type {fake.calls[-1]['compute']}, not {wanted}")
    for a, b, said in ((torch.ones(4, 8).to(torch.int8), torch.ones(8, 16).to(torch.int8), "has no algorithm"), (torch.ones(4, 16)[:, ::2], torch.ones(8, 4), "no dense matrix"),
                       (torch.ones(2, 3, 4, 8), torch.ones(3, 8, 4), "no batch of one stride")):
        try:
            library.product(a, b, torch.int32 if a.dtype == torch.int8 else a.dtype)
            expect(False, f"what {said} is refused")
        except NoOperator as refusal:
            expect(said in str(refusal) and str(refusal).startswith("cublaslt: "), f"it is refused as '{refusal}'")


def for_cudnn():
    """In the operators' place: PyTorch's own of the CPU; once more with the calls that a GPU gets."""
    count, problems, called = 0, 0, []

    def convolution(name, transposed):
        given = [each.name for each in getattr(torch.ops.aten, name).default._schema.arguments]

        def call(*arguments, **words):
            expect(all(word in given for word in words), f"{name} has no {sorted(set(words) - set(given))}")
            named = {**dict(zip(given, arguments)), **words}
            expect(set(named) == set(given), f"{name} is called with all of {given}")
            axes = named["self"].ndim - 2
            expect(axes > 1 and all(len(named[word]) == axes for word in ("padding", "stride", "dilation")), f"{name} has lists of {axes}, two at the least")
            called.append(name)
            operator = getattr(F, f"conv{'_transpose' if transposed else ''}{axes}d")
            more = {"output_padding": named["output_padding"]} if transposed else {}
            return operator(named["self"], named["weight"], None, stride=named["stride"], padding=named["padding"], dilation=named["dilation"], groups=named["groups"], **more)
        return call
    originals = torch.cudnn_convolution, torch.cudnn_convolution_transpose
    torch.cudnn_convolution, torch.cudnn_convolution_transpose = convolution("cudnn_convolution", False), convolution("cudnn_convolution_transpose", True)
    for text in texts():
        try:
            found = FoundForCudnn(ProblemFile(text))
        except NoOperator:
            continue
        count += compared(text, "cudnn", found, {"cudnn": cudnn.Cudnn(False, True)})
        problems += 1
        if "attention" not in found.what:
            before = len(called)
            count += compared(text, "cudnn", found, {"cudnn": cudnn.Cudnn(True, True)})
            expect(len(called) > before, f"{found.problem.name} calls cuDNN's convolution")
    torch.cudnn_convolution, torch.cudnn_convolution_transpose = originals
    print(f"cuDNN: {problems} problems and cases, {count} functions as the reference, {len(called)} calls of its convolutions")


def real_library():
    """Where it is installed, it takes our descriptors without a GPU."""
    library = cublaslt.load_library()
    if library is None:
        print("cuBLASLt is not here: its own descriptors were not made")
        return
    import ctypes
    made, layout = ctypes.c_void_p(), ctypes.c_void_p()
    expect(library.cublasLtMatmulDescCreate(ctypes.byref(made), 68, 0) == 0, "a product of f32 is made")
    for attribute, value in ((3, ctypes.c_int32(1)), (4, ctypes.c_int32(0)), (7, ctypes.c_uint32(4)), (8, ctypes.c_void_p(256)), (26, ctypes.c_int32(14)), (17, ctypes.c_void_p(256)),
                             (18, ctypes.c_void_p(512)), (31, ctypes.c_int32(3)), (32, ctypes.c_int32(3))):
        status = library.cublasLtMatmulDescSetAttribute(made, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))
        expect(status == 0, f"attribute {attribute} of a product: {status}")
    expect(library.cublasLtMatrixLayoutCreate(ctypes.byref(layout), 14, ctypes.c_uint64(8), ctypes.c_uint64(4), ctypes.c_int64(8)) == 0, "a layout is made")
    for attribute, value in ((5, ctypes.c_int32(3)), (6, ctypes.c_int64(32))):
        expect(library.cublasLtMatrixLayoutSetAttribute(layout, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))) == 0, f"attribute {attribute} of a layout")
    print(f"cuBLASLt {'.'.join(map(str, cublaslt.version(library)))} takes the descriptors")


def main():
    torch.set_num_threads(1)
    with torch.no_grad():
        products()
        compute_types()
        for_cudnn()
        real_library()
    return 0


if __name__ == "__main__":
    sys.exit(main())
