"""The reference as a PyTorch function in which a vendor's library computes what find_product.py or find_attention.py found."""

from . import find_attention, find_product, to_torch
from .to_torch import Value, make

PRODUCTS = {"f64": "f64", "f32": "f32", "i8": "i32"}   # what cuBLASLt gives of them


class LibraryFunction(to_torch.Function):
    """The text calls methods of `cublaslt` (cublaslt.py) and `cudnn` (cudnn.py)."""

    def of_call(self, node):
        made = {find_product.CALL: self.product, find_attention.CALL: self.attention}.get(node.func.id, super().of_call)
        return made(node)

    def helper(self, name, call, *nodes):
        return make(f"cudnn.{name}{call}", *nodes) if name in find_attention.CONVOLUTIONS else super().helper(name, call, *nodes)

    def output(self, tensor):
        self.dense = False   # a library chooses how its result lies
        return super().output(tensor)

    def product(self, node):
        a, b = (self.expression(each) for each in node.args)
        narrow = "bf16" if a.dtype in to_torch.TINY else a.dtype
        dtype = PRODUCTS.get(a.dtype, narrow if self.style == "stored" else "f32")
        words = {each.arg: each.value for each in node.keywords}
        for word in ("bias", "residual"):
            if word in words:
                words[word] = self.kept(self.expression(words[word]), dtype, node).node
        if "alpha" in words:
            words["alpha"] = self.expression(words["alpha"]).node
        return Value(self.library_call("cublaslt.product", [a.node, b.node, make(f"torch.{to_torch.TORCH[dtype]}")], words), dtype)

    def attention(self, node):
        values = [self.expression(each) for each in node.args]
        dtype = self.joined(*values)
        values = [each if each.dtype == dtype else self.to(each, dtype) for each in values]
        words = {each.arg: self.expression(each.value).node for each in node.keywords}
        return Value(self.library_call("cudnn.attention", [each.node for each in values], words), dtype)

    def library_call(self, name, arguments, words):
        parts = [f"_{i}" for i in range(len(arguments))] + [f"{word}=_{len(arguments) + i}" for i, word in enumerate(words)]
        return make(f"{name}({', '.join(parts)})", *arguments, *words.values())
