"""A device process (src/device/device_process.h) whose plans are the problem itself, computed by PyTorch.

    python -m kernelwright device PROBLEM eager|compile|cublaslt|cudnn cpu|cuda
    python -m kernelwright device PROBLEM module cpu|cuda FILE     the same with a candidate in Python (torch_module.py)

Messages are frames on descriptor 3: two little-endian u64 (bytes of head, of body), a JSON object, bytes. A plan that is loaded
here has buffers and no steps; its `candidate` holds words: style=STYLE (to_torch.py), and AXIS=SIZE for each axis.

A call is timed between two events, as one CUDA graph where PyTorch lets itself be captured; the first calls, in which it compiles
and chooses, lie before any clock. Inputs lie elsewhere with each new layout that is asked for afresh, and the graph is captured anew.
"""

import ctypes
import inspect
import json
import os
import socket
import struct
import time

import torch

from . import library_rival, to_torch
from .expression_graph import NoOperator
from .problem_file import ProblemFile

INVALID, UNSUPPORTED, NOT_FOUND, IO, LIMIT = range(5)   # ErrorCode of base/result.h
DTYPES = {name: getattr(torch, theirs) for name, theirs in to_torch.TORCH.items()}
FLUSH = 4              # how often the L2 cache's size is read to empty it
SHIFTS = 8 << 20       # how far a buffer may be shifted
WARM_CALLS = 3
# Of fingerprints (src/device/fingerprint.cc).
A, B, C = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B
PIECE = 1 << 24


class Refused(Exception):
    def __init__(self, code, message, *notes):
        super().__init__(message)
        self.code, self.notes = code, list(notes)


def signed(word):
    word &= (1 << 64) - 1
    return word - (1 << 64) if word >> 63 else word


def logical_shift(words, count):
    return (words >> count) & ((1 << (64 - count)) - 1)


def fingerprint(data, key):
    """Of a flat uint8 tensor."""
    count = data.numel()
    if count % 4:
        data = torch.nn.functional.pad(data, (0, 4 - count % 4))
    words, sums = data.view(torch.int32), [0, 0]
    for start in range(0, words.numel(), PIECE):
        piece = words[start:start + PIECE].to(torch.int64) & 0xFFFFFFFF
        index = torch.arange(start, start + piece.numel(), device=data.device)
        m = (piece + 1) * signed(A) + index * signed(B) + signed(key)
        m = (m ^ logical_shift(m, 32)) * signed(C)
        m = m ^ logical_shift(m, 29)
        sums[0] += int(m.sum())
        m = m * signed(A)
        sums[1] += int((m ^ logical_shift(m, 32)).sum())
    return [each & ((1 << 64) - 1) for each in sums]


class Loaded:
    """The problem at one workload and in one style."""

    def __init__(self, device, plan):
        words = dict(word.split("=") for word in plan["candidate"].split(", "))
        self.device, self.style = device, words.pop("style")
        self.axes = {name: int(size) for name, size in words.items()}
        self.buffers = {each["name"]: each for each in plan["buffers"]}
        problem = device.problem
        self.inputs = [each for each in problem.inputs if each.name in self.buffers]
        self.outputs = [each for each in problem.outputs if each.name in self.buffers]
        self.function, given = device.function(self.style, self.axes)
        self.options = {axis: self.axes[axis] for axis in given}
        self.written, self.results, self.graph = {}, None, None
        for each in self.inputs:
            self.written[each.name] = torch.zeros(self.buffers[each.name]["bytes"], dtype=torch.uint8, device=device.where)
        self.place(0)
        self.put({}, 0)
        with device.beside():
            for _ in range(WARM_CALLS if device.on_gpu else 1):
                self.results = self.compute()
        self.check_results()
        self.capture()

    def place(self, seed):
        self.views, self.arguments = {}, []
        for i, each in enumerate(self.inputs):
            buffer = self.buffers[each.name]
            shift = (seed * (2 * i + 1) * 0x9E3779B9 >> 7) % (SHIFTS // 256) * 256 if seed else 0
            view = torch.empty(shift + buffer["bytes"], dtype=torch.uint8, device=self.device.where)[shift:]
            self.views[each.name] = view
            packed = each.dtype in to_torch.PACKED
            self.arguments.append(view if packed else view.view(DTYPES[each.dtype]).reshape(buffer["shape"]))

    def put(self, turned, turn):
        """The written contents; those of `turned` begin at element `turn`."""
        for each in self.inputs:
            data, view = self.written[each.name], self.views[each.name]
            size = 1 if each.dtype in to_torch.PACKED else DTYPES[each.dtype].itemsize
            first = turn % (data.numel() // size) * size if each.name in turned and data.numel() >= size else 0
            view[:view.numel() - first].copy_(data[first:])
            if first:
                view[view.numel() - first:].copy_(data[:first])

    def compute(self):
        torch.set_default_dtype(torch.float64 if self.style == "reference" else torch.float32)   # of what is made anew
        with torch.no_grad():
            arguments = [widened(each, argument, self.buffers[each.name]["shape"]) for each, argument in zip(self.inputs, self.arguments)] \
                if self.style == "reference" else self.arguments
            results = self.function(*arguments, **self.options)
        return results if isinstance(results, tuple) else (results,)

    def check_results(self):
        if len(self.results) != len(self.outputs):
            raise Refused(INVALID, f"PyTorch gives {len(self.results)} tensors; the problem has {len(self.outputs)} outputs")
        for each, result in zip(self.outputs, self.results):
            buffer = self.buffers[each.name]
            if self.style == "reference":
                continue
            packed, dtype = each.dtype in to_torch.PACKED, DTYPES.get(each.dtype, torch.uint8)
            if not result.is_contiguous() or result.dtype != dtype or not packed and list(result.shape) != buffer["shape"]:
                raise Refused(INVALID, f"PyTorch gives {each.name} as {result.dtype} {list(result.shape)}, strides {list(result.stride())}, "
                                       f"which is no dense {each.dtype} {buffer['shape']}")

    def capture(self):
        self.graph = None
        if not self.device.on_gpu:
            return
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self.results = self.compute()
            self.graph = graph
        except RuntimeError as error:   # then its launches are queued behind a kernel that waits
            self.device.say(f"not captured: {error}")
            torch.cuda.synchronize()

    def execute(self):
        if self.graph is not None:
            self.graph.replay()
        else:
            self.results = self.compute()

    def bytes_of(self, name):
        if name in self.views:
            return self.views[name]
        index = [each.name for each in self.outputs].index(name)
        result = self.results[index]
        if self.style == "reference":
            result = result.double()
        return result.contiguous().reshape(-1).view(torch.uint8)

    def run(self):
        begin = time.perf_counter()
        self.put({}, 0)
        self.execute()
        self.device.wait()
        return {"completed": True, "steps": [], "output": "", "wall_s": time.perf_counter() - begin}

    def call(self, options):
        if options.get("afresh"):
            self.graph = self.results = None
            self.place(options.get("layout_seed", 0))
            self.put({}, 0)
            with self.device.beside():
                self.results = self.compute()
            self.capture()
            self.execute()   # the first launch of a graph also brings it to the GPU
        self.put(set(options.get("turned", ())), options.get("turn", 0))
        cold, repeats = options.get("cold", True), 1 if options.get("cold", True) else max(1, options.get("repeats", 1))
        device_s = host_s = 0.0
        if self.device.on_gpu:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            if cold:
                self.device.flush()
                if self.graph is None:
                    torch.cuda._sleep(self.device.long_enough)
            else:
                self.execute()
                torch.cuda.synchronize()
            start = time.perf_counter()
            begin.record()
            for _ in range(repeats):
                self.execute()
            end.record()
            torch.cuda.synchronize()
            host_s = 0.0 if cold else time.perf_counter() - start
            device_s = begin.elapsed_time(end) * 1e-3
        else:
            for _ in range(repeats):
                self.execute()
        outputs = [fingerprint(self.bytes_of(each.name), options.get("key", 0)) for each in self.outputs]
        return {"completed": True, "device_s": device_s, "host_s": host_s, "outputs": outputs, "findings": []}


def held(data):
    return ctypes.string_at(data.data_ptr(), data.numel()) if data.numel() else b""


def widened(tensor, given, shape):
    """What style reference computes with."""
    from . import torch_functions
    if tensor.dtype == "e2m1":
        return torch_functions.unpack_e2m1(given, shape, torch.float64)
    if tensor.dtype in to_torch.PACKED:
        return getattr(torch_functions, "unpack_" + tensor.dtype)(given, shape).long()
    return given if given.dtype == torch.bool else given.double() if given.dtype.is_floating_point else given.long()


class TorchDevice:
    def __init__(self, path, manner, where, candidate=None):
        with open(path, encoding="utf-8") as file:
            self.problem = ProblemFile(file.read())
        self.folder, self.manner, self.where = os.path.dirname(path), manner, torch.device(where)
        self.on_gpu = where == "cuda"
        for style in to_torch.STYLES if candidate is None else ():
            to_torch.Function(self.problem, style)   # refuses here what it cannot translate
        if self.on_gpu and not torch.cuda.is_available():
            raise Refused(NOT_FOUND, f"PyTorch {torch.__version__} sees no GPU", f"install a build of it for CUDA, or leave --against {manner} out")
        self.functions, self.plans = {}, {}
        if not self.on_gpu:
            torch.set_num_threads(1)   # what is small has no use for more, and a busy machine punishes it
        if self.on_gpu:
            cache = torch.cuda.get_device_properties(0).L2_cache_size
            self.other = torch.ones(FLUSH * max(cache, 1 << 20) // 4, dtype=torch.int32, device="cuda")
            self.long_enough = 20_000_000   # cycles: ten milliseconds
        self.library = library_rival.LibraryRival(self, manner) if manner in library_rival.MANNERS else None
        self.module = None
        if candidate is not None:
            from .torch_module import Module
            self.module = Module(os.path.abspath(candidate), self.problem, self.where)

    def say(self, text):
        if os.environ.get("KW_RIVAL_LOG"):
            with open(os.environ["KW_RIVAL_LOG"], "a", encoding="utf-8") as file:
                file.write(f"{self.problem.name}: {text}\n")

    def function(self, style, axes):
        """The function, compiled where asked for, and the axes that it takes."""
        if self.module is not None:
            return self.module, []
        key = (style, tuple(sorted(axes.items())))
        if key not in self.functions:
            namespace = {} if self.library is None else self.library.namespace()
            place = f"{self.folder}/{self.problem.name}_{style}.py"   # torch.compile knows functions by their files
            with open(place, "w", encoding="utf-8") as file:
                file.write((to_torch.Function(self.problem, style) if self.library is None else self.library.function(style)).text())
            with open(place, encoding="utf-8") as file:
                exec(compile(file.read(), place, "exec"), namespace)
            made = namespace[self.problem.name]
            given = [name for name, each in inspect.signature(made).parameters.items() if each.kind == each.KEYWORD_ONLY]
            self.functions[key] = (torch.compile(made, dynamic=False) if self.manner == "compile" else made, given)
        return self.functions[key]

    def beside(self):
        """Where the first calls run, as a capture wants it."""
        if not self.on_gpu:
            return torch.no_grad()
        torch.cuda.synchronize()
        return torch.cuda.stream(torch.cuda.Stream())

    def flush(self):
        self.other.sum()

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def answer(self, head, body):
        what, plan = head["do"], head.get("plan")
        if what == "capabilities":
            name = f"PyTorch {torch.__version__.split('+')[0]}"
            if self.module is not None:
                name = f"{torch.cuda.get_device_name(0) if self.on_gpu else 'CPU'} through {name}"
            elif self.library is not None:
                name = self.library.name
            else:
                name += " eager" if self.manner == "eager" else " torch.compile"
            return {"name": name, "times": self.on_gpu, "findings": False, "dram_bytes_per_s": 0.0}, b""
        if what == "load":
            self.plans[plan] = Loaded(self, json.loads(body))
            self.wait()
            return {}, b""
        if what == "unload":
            self.plans.pop(plan, None)
            if self.on_gpu:
                torch.cuda.empty_cache()
            return {}, b""
        if what in ("conditions", "reset", "first_unwritten"):
            return {}, b""
        loaded, name = self.plans[plan], head.get("buffer", "")
        if what == "write":
            loaded.written[name].copy_(torch.frombuffer(bytearray(body), dtype=torch.uint8) if body else loaded.written[name])
        elif what == "read":
            return {}, held(loaded.bytes_of(name).cpu())
        elif what == "run":
            return loaded.run(), b""
        elif what == "call":
            return loaded.call(head), b""
        else:
            raise Refused(INVALID, f"asked for '{what}'")
        return {}, b""


def receive(channel, count):
    data = bytearray(count)
    view = memoryview(data)
    while count:
        got = channel.recv_into(view, min(count, 1 << 30))
        if got == 0:
            raise EOFError
        view, count = view[got:], count - got
    return data


def send(channel, head, body=b""):
    text = json.dumps(head).encode()
    channel.sendall(struct.pack("<QQ", len(text), len(body)) + text)
    channel.sendall(body)


def error_of(error):
    if isinstance(error, Refused):
        return {"code": error.code, "message": str(error), "notes": error.notes}
    if isinstance(error, library_rival.NotInstalled):
        return {"code": NOT_FOUND, "message": str(error), "notes": error.notes}
    if isinstance(error, NoOperator):
        return {"code": UNSUPPORTED, "message": str(error), "notes": []}
    if isinstance(error, (to_torch.Untranslatable, SyntaxError)):
        return {"code": UNSUPPORTED, "message": f"the problem has no translation to PyTorch: {to_torch.reason(error)}", "notes": []}
    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return {"code": LIMIT, "message": "PyTorch needs more memory than there is", "notes": []}
    lines = str(error).strip().splitlines()
    return {"code": INVALID, "message": f"PyTorch: {type(error).__name__}: {lines[0][:400] if lines else ''}", "notes": []}


def main(path, manner, where, candidate=None):
    channel, device, refusal = socket.socket(fileno=3), None, None
    try:
        device = TorchDevice(path, manner, where, candidate)
    except Exception as error:  # every request is answered with it
        refusal = error
    while True:
        try:
            sizes = struct.unpack("<QQ", receive(channel, 16))
            head, body = json.loads(receive(channel, sizes[0])), receive(channel, sizes[1])
        except (EOFError, OSError):
            return 0
        try:
            if refusal:
                raise refusal
            reply = device.answer(head, body)
        except Exception as error:  # PyTorch's errors are of many kinds
            reply = {"error": error_of(error)}, b""
        try:
            send(channel, *reply)
        except OSError:   # the caller is gone
            return 0
