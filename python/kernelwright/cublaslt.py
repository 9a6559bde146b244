"""Matrix products by cuBLASLt's C interface, with the fastest of the algorithms that it proposes.

A dense row-major matrix is the transpose of a column-major one in the same memory. So the row-major D = A @ B is asked for as the
column-major Dᵀ = Bᵀ @ Aᵀ: the library's A is our B, its B our A, its m our columns, and its bias, one number for each of its rows,
is one for each of our columns. Numbers are those of cublasLt.h, cublas_api.h and library_types.h of CUDA 12 and 13.
"""

import ctypes
import glob
import os
import statistics

import torch

from .expression_graph import NoOperator

TYPES = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.int8: 3, torch.int32: 10, torch.bfloat16: 14, torch.float8_e4m3fn: 28, torch.float8_e5m2: 29}
COMPUTE = {"f32": 68, "f64": 70, "i32": 72, "tf32": 77}
BATCH_COUNT, BATCH_STRIDE = 5, 6                                                   # of a layout
TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, BIAS, SCALE_A, SCALE_B, BIAS_TYPE, SCALE_MODE_A, SCALE_MODE_B = 3, 4, 7, 8, 17, 18, 26, 31, 32   # of a product
WORKSPACE_BYTES, ALIGNMENTS = 1, (5, 6, 7, 8)                                     # of a preference
OUTER_VECTOR = 3
DEFAULT, RELU, BIAS_ADDED, GELU = 1, 2, 4, 32   # epilogues
ASKED_FOR = 16
WORKSPACE = 64 << 20
ALIGNED = 256          # as all memory of PyTorch's is
CALLS = 5              # that an algorithm is timed by
STATUS = {1: "not initialised", 3: "no memory", 7: "invalid value", 8: "architecture mismatch", 13: "execution failed", 14: "internal error", 15: "not supported"}


class Heuristic(ctypes.Structure):
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int), ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


def load_library():
    """The one that PyTorch uses, where there is one; None: there is none."""
    major = (torch.version.cuda or "13").split(".")[0]
    beside = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia", "*", "lib", "libcublasLt.so.*")
    for name in (f"libcublasLt.so.{major}", *sorted(glob.glob(beside)), "libcublasLt.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


def version(library):
    """[major, minor, patch]"""
    library.cublasLtGetVersion.restype = ctypes.c_size_t
    number = library.cublasLtGetVersion()
    return [number // 10000, number // 100 % 100, number % 100]


class Cublaslt:
    """`clock`: seconds that a call takes from cold. `workspace`: a tensor; it says where everything is."""

    def __init__(self, library, workspace, clock):
        self.library, self.workspace, self.clock = library, workspace, clock
        self.handle, self.chosen = ctypes.c_void_p(), {}
        self.ask("cublasLtCreate", ctypes.byref(self.handle))

    def ask(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise NoOperator(f"cublaslt: {name} says {status} ({STATUS.get(status, 'unknown')})")

    def product(self, a, b, dtype, *, alpha=1.0, bias=None, residual=None, rows=None, columns=None, activation=None, tf32=False):
        """activation(rows[i] * columns[j] * alpha * (a @ b)[i, j] + residual[i, j] + bias[j]); shapes are those of torch.matmul."""
        a, b, shape = as_matrices(a, b)
        d = torch.empty(max(a.shape[0], b.shape[0]), a.shape[1], b.shape[2], dtype=dtype, device=a.device)
        c = d if residual is None else residual.contiguous()
        pointers = {BIAS: bias, SCALE_A: columns, SCALE_B: rows}
        # What the choice of an algorithm depends on.
        key = (*((each.shape, each.stride(), each.dtype) for each in (a, b)), dtype, alpha, activation, tf32, residual is None,
               *(each is None for each in pointers.values()), *(alignment(each) for each in (b, a, c, d)))
        if key not in self.chosen:
            self.chosen[key] = Prepared(self, a, b, c, d, alpha, pointers, residual is not None, activation, tf32)
        self.chosen[key].call(a, b, c, d, pointers)
        return d.reshape(shape)


class Prepared:
    """Descriptors of one product, and its algorithm."""

    def __init__(self, owner, a, b, c, d, alpha, pointers, adds, activation, tf32):
        self.owner = owner
        compute = "i32" if a.dtype == torch.int8 else "f64" if a.dtype == torch.float64 else "tf32" if tf32 else "f32"
        scale, number = {"i32": (10, ctypes.c_int32), "f64": (1, ctypes.c_double)}.get(compute, (0, ctypes.c_float))
        self.alpha, self.beta = number(int(alpha) if compute == "i32" else alpha), number(1 if adds else 0)
        self.descriptor = ctypes.c_void_p()
        owner.ask("cublasLtMatmulDescCreate", ctypes.byref(self.descriptor), COMPUTE[compute], scale)
        (self.layout_a, turned_a), (self.layout_b, turned_b) = self.operand(b, True), self.operand(a, False)
        self.layout_d = self.layout(d.dtype, d.shape[2], d.shape[1], d.shape[2], d.shape[0], d.stride(0))
        self.set(TRANSPOSE_A, ctypes.c_int32(turned_a))
        self.set(TRANSPOSE_B, ctypes.c_int32(turned_b))
        epilogue = {None: 0, "relu": RELU, "gelu": GELU}[activation] | (BIAS_ADDED if pointers[BIAS] is not None else 0)
        self.set(EPILOGUE, ctypes.c_uint32(epilogue or DEFAULT))
        if pointers[BIAS] is not None:
            self.set(BIAS_TYPE, ctypes.c_int32(TYPES[pointers[BIAS].dtype]))
        if pointers[SCALE_A] is not None:
            self.set(SCALE_MODE_A, ctypes.c_int32(OUTER_VECTOR))
            self.set(SCALE_MODE_B, ctypes.c_int32(OUTER_VECTOR))
        self.point(pointers)
        self.choose(a, b, c, d, pointers)

    def set(self, attribute, value, what="MatmulDesc", of=None):
        self.owner.ask(f"cublasLt{what}SetAttribute", of or self.descriptor, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    def layout(self, dtype, rows, columns, leading, batch, stride):
        layout = ctypes.c_void_p()
        self.owner.ask("cublasLtMatrixLayoutCreate", ctypes.byref(layout), TYPES[dtype], ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(leading))
        if batch > 1:
            self.set(BATCH_COUNT, ctypes.c_int32(batch), "MatrixLayout", layout)
            self.set(BATCH_STRIDE, ctypes.c_int64(stride), "MatrixLayout", layout)
        return layout

    def operand(self, x, is_right):
        """The layout, and whether the library is to transpose it. Where both ways fit, the sum's axis comes first in memory."""
        count, rows, columns = x.shape
        batch_stride, row_stride, column_stride = x.stride()
        by_rows = (columns == 1 or column_stride == 1) and (rows == 1 or row_stride >= columns)
        by_columns = (rows == 1 or row_stride == 1) and (columns == 1 or column_stride >= rows)
        if not by_rows and not by_columns:
            raise NoOperator(f"cublaslt: an operand of shape {list(x.shape)} and strides {list(x.stride())} is no dense matrix")
        if by_columns and (is_right or not by_rows):
            return self.layout(x.dtype, rows, columns, column_stride if columns > 1 else rows, count, batch_stride), True
        return self.layout(x.dtype, columns, rows, row_stride if rows > 1 else columns, count, batch_stride), False

    def point(self, pointers):
        for attribute, tensor in pointers.items():
            if tensor is not None:
                self.set(attribute, ctypes.c_void_p(tensor.data_ptr()))

    def choose(self, a, b, c, d, pointers):
        owner, preference = self.owner, ctypes.c_void_p()
        owner.ask("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        self.set(WORKSPACE_BYTES, ctypes.c_uint64(owner.workspace.numel()), "MatmulPreference", preference)
        for attribute, tensor in zip(ALIGNMENTS, (b, a, c, d)):
            self.set(attribute, ctypes.c_uint32(alignment(tensor)), "MatmulPreference", preference)
        proposed, count = (Heuristic * ASKED_FOR)(), ctypes.c_int(0)
        status = owner.library.cublasLtMatmulAlgoGetHeuristic(owner.handle, self.descriptor, self.layout_a, self.layout_b, self.layout_d, self.layout_d,
                                                              preference, ASKED_FOR, proposed, ctypes.byref(count))
        owner.library.cublasLtMatmulPreferenceDestroy(preference)
        a, b = like(a), like(b)   # products of zeros are faster
        fastest, self.algorithm = float("inf"), None
        for each in proposed[:count.value] if status == 0 else ():
            if each.state != 0:
                continue
            chosen, self.algorithm = self.algorithm, each
            try:
                took = statistics.median(owner.clock(lambda: self.call(a, b, c, d, pointers)) for _ in range(CALLS))
            except NoOperator:
                took = float("inf")
            if took < fastest:
                fastest = took
            else:
                self.algorithm = chosen
        if self.algorithm is None:
            raise NoOperator(f"cublaslt: the library has no algorithm for {list(a.shape)} {a.dtype} @ {list(b.shape)} {b.dtype} to {d.dtype} with what goes with it"
                             f" (status {status}, {STATUS.get(status, 'none of its proposals runs')})")

    def call(self, a, b, c, d, pointers):
        owner, pointer = self.owner, ctypes.c_void_p
        self.point(pointers)
        stream = torch.cuda.current_stream().cuda_stream if d.is_cuda else 0
        owner.ask("cublasLtMatmul", owner.handle, self.descriptor, ctypes.byref(self.alpha), pointer(b.data_ptr()), self.layout_a, pointer(a.data_ptr()),
                  self.layout_b, ctypes.byref(self.beta), pointer(c.data_ptr()), self.layout_d, pointer(d.data_ptr()), self.layout_d,
                  ctypes.byref(self.algorithm), pointer(owner.workspace.data_ptr()), ctypes.c_size_t(owner.workspace.numel()), pointer(stream))


def alignment(tensor):
    return min(ALIGNED, tensor.data_ptr() & -tensor.data_ptr() or ALIGNED)


def like(x):
    """A tensor of random values that lies as x does."""
    if alignment(x) < ALIGNED or not x.numel():
        return x
    extent = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
    values = torch.randint(-127, 128, (extent,), device=x.device) if x.dtype == torch.int8 else torch.randn(extent, device=x.device)
    return values.to(x.dtype).as_strided(x.shape, x.stride())


def as_matrices(a, b):
    """Both as [batch, rows, columns], and the result's shape. A batch of one goes with any."""
    left, right = a.ndim == 1, b.ndim == 1
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (() if left else a.shape[-2:-1]) + (() if right else b.shape[-1:])
    if right and not left:   # A @ x is xᵀ @ Aᵀ, so that the library's result is one column
        a, b = b[None], a.mT
    elif left:
        a, b = a[None], b[:, None] if right else b
    if b.ndim == 2 and a.ndim > 2 and a.is_contiguous():
        a = a.flatten(0, -2)   # rows of all
    batches = [each.shape[:-2].numel() for each in (a, b)]
    if batches[0] != batches[1] and 1 not in batches or batches[0] == batches[1] and a.shape[:-2].numel() != torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]).numel():
        raise NoOperator(f"cublaslt: {list(a.shape)} @ {list(b.shape)} is no batch of one stride")
    try:
        a, b = (each.view(-1, *each.shape[-2:]) for each in (a, b))
    except RuntimeError as error:
        raise NoOperator(f"cublaslt: {list(a.shape)} @ {list(b.shape)} is no batch of one stride") from error
    count = max(batches)
    return (*(each.expand(count, -1, -1) if each.shape[0] == 1 and count > 1 else each for each in (a, b)), shape)
