"""A vendor's library as a rival: the part of a problem that it has, called at run time, with the rest in PyTorch beside it.

`cublaslt`: one matrix product, through cuBLASLt's C interface. `cudnn`: convolutions and attention, through PyTorch.
What a problem has nothing of is refused when it is loaded, with the reason.
"""

import torch

from . import cublaslt, cudnn
from .expression_graph import NoOperator
from .find_attention import FoundForCudnn
from .find_product import FoundProduct
from .library_function import LibraryFunction

MANNERS = ("cublaslt", "cudnn")


class NotInstalled(Exception):
    def __init__(self, message, *notes):
        super().__init__(message)
        self.notes = list(notes)


class LibraryRival:
    """`device`: the TorchDevice, for its problem and its clock."""

    def __init__(self, device, manner):
        self.device, self.manner, self.found, self.refusal, self.library = device, manner, None, None, None
        try:
            self.found = FoundProduct(device.problem, has_outer_scales(device.on_gpu)) if manner == "cublaslt" else FoundForCudnn(device.problem)
        except NoOperator as refusal:
            self.refusal = refusal
        if device.on_gpu:
            self.library = self.load_cublaslt() if manner == "cublaslt" else self.load_cudnn()
        elif self.refusal is None:
            self.refusal = NoOperator(f"{manner}: the library computes on a GPU alone")
        torch_version = torch.__version__.split("+")[0]
        self.name = f"cuBLASLt {self.version}" if manner == "cublaslt" else f"cuDNN {cudnn.version()} by PyTorch {torch_version}"
        if self.found is not None:
            self.name += f" ({', '.join(self.found.what)}{'; ' + ', '.join(self.found.rest) + ' in PyTorch ' + torch_version if self.found.rest else ''})"

    @property
    def version(self):
        library = cublaslt.load_library()
        return ".".join(map(str, cublaslt.version(library))) if library else "not installed"

    def load_cublaslt(self):
        library = cublaslt.load_library()
        if library is None:
            raise NotInstalled("cuBLASLt is not there (libcublasLt.so)", "install nvidia-cublas beside torch, or leave --against cublaslt out")
        workspace = torch.empty(cublaslt.WORKSPACE, dtype=torch.uint8, device="cuda")
        return cublaslt.Cublaslt(library, workspace, self.cold_time)

    def load_cudnn(self):
        if not torch.backends.cudnn.is_available() or not torch.backends.cudnn.enabled:
            raise NotInstalled("PyTorch has no cuDNN here", "install a build of PyTorch with it, or leave --against cudnn out")
        torch.backends.cudnn.benchmark = True
        # Inputs of 16 bits and less keep all theirs in tf32.
        return cudnn.Cudnn(True, not any(each.dtype in ("f32", "f64") for each in self.device.problem.inputs))

    def cold_time(self, call):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.device.flush()   # takes longer than to launch what is timed
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def function(self, style):
        if self.refusal is not None:
            raise self.refusal
        return LibraryFunction(self.found.problem, style)

    def namespace(self):
        """What the function's text calls the library by."""
        return {self.manner: self.library}


def has_outer_scales(on_gpu):
    """cuBLAS 12.9 and later, on GPUs of compute capability 9.0."""
    if not on_gpu or torch.cuda.get_device_capability() != (9, 0):
        return False
    library = cublaslt.load_library()
    return library is not None and cublaslt.version(library) >= [12, 9, 0]
