"""cuBLASLt's interface as its manual describes it, computed on the CPU: column-major matrices in memory, read through the pointers and layouts given.

It refuses what the library on a GPU does: attributes of a wrong size, fp8 and int8 other than transposed by not transposed, an algorithm that it
did not propose, a matrix with columns that overlap.
"""

import ctypes

import torch
import torch.nn.functional as F

TYPES = {0: torch.float32, 1: torch.float64, 2: torch.float16, 3: torch.int8, 10: torch.int32, 14: torch.bfloat16, 28: torch.float8_e4m3fn, 29: torch.float8_e5m2}
SIZES = {"MatmulDesc": {3: 4, 4: 4, 7: 4, 8: 8, 17: 8, 18: 8, 26: 4, 31: 4, 32: 4}, "MatrixLayout": {5: 4, 6: 8}, "MatmulPreference": {1: 8, 5: 4, 6: 4, 7: 4, 8: 4}}
COMPUTE_AND_SCALE = ((68, 0), (77, 0), (70, 1), (72, 10))
INVALID, UNSUPPORTED = 7, 15


def memory(address, dtype, count):
    return torch.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype=dtype)


class FakeCublaslt:
    def __init__(self):
        self.objects, self.calls = [], []

    def made(self, place, **what):
        self.objects.append({"set": {}, **what})
        place._obj.value = len(self.objects)
        return 0

    def cublasLtCreate(self, place):
        return self.made(place, kind="handle")

    def cublasLtMatmulDescCreate(self, place, compute, scale):
        return self.made(place, kind="MatmulDesc", compute=compute) if (compute, scale) in COMPUTE_AND_SCALE else INVALID

    def cublasLtMatrixLayoutCreate(self, place, dtype, rows, columns, leading):
        if leading.value < rows.value:
            return INVALID
        return self.made(place, kind="MatrixLayout", dtype=TYPES[dtype], rows=rows.value, columns=columns.value, leading=leading.value)

    def cublasLtMatmulPreferenceCreate(self, place):
        return self.made(place, kind="MatmulPreference")

    def cublasLtMatmulPreferenceDestroy(self, _):
        return 0

    def set(self, kind, handle, attribute, place, size):
        made = self.objects[handle.value - 1]
        if made["kind"] != kind or SIZES[kind].get(attribute) != size.value or ctypes.sizeof(place._obj) != size.value:
            return INVALID
        made["set"][attribute] = place._obj.value
        return 0

    def cublasLtMatmulDescSetAttribute(self, *arguments):
        return self.set("MatmulDesc", *arguments)

    def cublasLtMatrixLayoutSetAttribute(self, *arguments):
        return self.set("MatrixLayout", *arguments)

    def cublasLtMatmulPreferenceSetAttribute(self, *arguments):
        return self.set("MatmulPreference", *arguments)

    def cublasLtMatmulAlgoGetHeuristic(self, handle, product, a, b, c, d, preference, asked, proposed, count):
        product, a, b = (self.objects[each.value - 1] for each in (product, a, b))
        if len(self.objects[preference.value - 1]["set"]) != 5 or asked != len(proposed):
            return INVALID
        if a["dtype"].itemsize == 1 and (product["set"][3], product["set"][4]) != (1, 0):
            count._obj.value = 0
            return UNSUPPORTED
        for i, state in enumerate((0, UNSUPPORTED, 0)):
            proposed[i].state = state
            proposed[i].algorithm[0] = 0xA160 + i
        count._obj.value = 3
        return 0

    def cublasLtMatmul(self, handle, product, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algorithm, workspace, workspace_bytes, stream):
        product = self.objects[product.value - 1]
        said = product["set"]
        if algorithm._obj.algorithm[0] not in (0xA160, 0xA162):
            return UNSUPPORTED
        batches = [self.matrices(a, layout_a), self.matrices(b, layout_b), self.matrices(c, layout_c), self.matrices(d, layout_d)]
        if len({len(each) for each in batches}) != 1:
            return INVALID
        self.calls.append({**said, "compute": product["compute"], "algorithm": algorithm._obj.algorithm[0]})
        wide = torch.float32 if product["compute"] in (68, 77) else torch.float64
        for left, right, added, result in zip(*batches):
            left, right = left.double(), right.double()
            sums = (left.T if said.get(3) else left) @ (right.T if said.get(4) else right)
            if sums.shape != result.shape:
                return INVALID
            if 31 in said:
                sums *= memory(said[17], torch.float32, sums.shape[0]).double()[:, None] * memory(said[18], torch.float32, sums.shape[1]).double()
            sums *= alpha._obj.value
            if beta._obj.value:
                sums += beta._obj.value * added.double()
            if said.get(7, 1) & 4:
                sums += memory(said[8], TYPES[said[26]], sums.shape[0]).double()[:, None]
            if said.get(7, 1) & 2:
                sums = torch.relu(sums)
            if said.get(7, 1) & 32:
                sums = F.gelu(sums, approximate="tanh")
            result.copy_(sums.to(wide) if result.dtype.is_floating_point else sums)
        return 0

    def matrices(self, pointer, layout):
        layout = self.objects[layout.value - 1]
        count, stride = layout["set"].get(5, 1), layout["set"].get(6, 0)
        rows, columns, leading = layout["rows"], layout["columns"], layout["leading"]
        extent = (columns - 1) * leading + rows
        return [memory(pointer.value + i * stride * layout["dtype"].itemsize, layout["dtype"], extent).as_strided((rows, columns), (1, leading))
                for i in range(count)]
