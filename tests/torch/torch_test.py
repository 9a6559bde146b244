"""kw problem torch, and kw judge of candidates in Python, as a user runs them. 77 (skipped) where no Python has torch.

    torch_test.py KW
"""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROBLEMS = os.path.join(HERE, "..", "..", "problems")
CHECKED = (f"{HERE}/operators", f"{PROBLEMS}/quantize_nvfp4", f"{PROBLEMS}/topk")   # most functions; packed types and casts; ties


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def expect(holds, what, text=""):
    if not holds:
        sys.exit(f"torch_test: {what}\n{text}")


def altered(folder, name, old, new):
    with open(f"{PROBLEMS}/{name}.problem", encoding="utf-8") as file:
        text = file.read()
    expect(old in text, f"{name} says {old}")
    with open(f"{folder}/{name}.problem", "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))
    return f"{folder}/{name}.problem"


MODULE = """import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(columns))

    def forward(self, x):
        x = x.float()
        return (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.w).to(torch.bfloat16)


def get_init_inputs():
    return [8]
"""
# How it is spoiled, the exit code and what is said: of a forward that is wrong, keeps its first answer, raises, ends the process;
# of a file that cannot be a candidate.
SPOILED = (("", "", 0, "CORRECT, UNSEALED"), ("1e-5", "1e-2", 1, "WRONG, UNSEALED"),
           ("        return (x", "        self.kept = y = getattr(self, 'kept', {})\n        if x.shape in y:\n            return y[x.shape]\n"
                                "        y[x.shape] = (x", 1, "WRONG, UNSEALED"),
           ("x.float()", "x.flaot()", 1, "UNRECORDABLE, UNSEALED"), ("        x = x.float()", "        import os\n        os._exit(0)", 1, "UNRECORDABLE"),
           ("ModelNew", "Model", 2, "no class ModelNew"), ("return [8]", "return []", 2, "get_init_inputs"))


def judged(kw, folder):
    for i, (old, new, wanted, said) in enumerate(SPOILED):
        text = MODULE.replace(old, new) if old else MODULE
        if "y[x.shape] = (x" in new:
            text = text.replace(".to(torch.bfloat16)", ".to(torch.bfloat16)\n        return y[x.shape]")
        with open(f"{folder}/m{i}.py", "w", encoding="utf-8") as file:
            file.write(text)
        code, out, err = run(kw, "judge", f"{PROBLEMS}/rms_norm.problem", f"{folder}/m{i}.py", "--unsealed", "--seed", "3")
        expect(code == wanted and said in out + err, f"{said}: exit code {code}, not {wanted}", out + err)


def main(kw):
    code, out, err = run(kw, "problem", "torch", f"{PROBLEMS}/gemm_f16.problem")
    if "no Python with torch" in err:
        print("SKIP: " + err.strip())
        return 77
    expect(code == 0 and "def gemm_f16(a, b):\n    c = a @ b\n    return c\n" in out, "a function is printed", out + err)
    for path in CHECKED:
        code, out, err = run(kw, "problem", "torch", path + ".problem", "--check")
        last = re.search(r"the same problem; of (\d+) workloads \d+ are right in style stored, (\d+) in style wide$", out.strip())
        expect(code == 0 and last and last.group(1) == last.group(2), f"{path} is the same problem", out + err)
    with tempfile.TemporaryDirectory() as folder:
        path = altered(folder, "gelu", "y = gelu(x)", "y = cbrt(x)")
        for more in ((), ("--check",)):
            code, out, err = run(kw, "problem", "torch", path, *more)
            expect(code == 2 and re.search(r"line \d+: no PyTorch is known for cbrt\(\)", err), "what has no translation is named", out + err)
        path = altered(folder, "silu", "x: bf16", "x: e3m2")
        code, out, err = run(kw, "problem", "torch", path)
        expect(code == 2 and "no tensors of e3m2" in err, "a dtype that PyTorch lacks", out + err)
        judged(kw, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
