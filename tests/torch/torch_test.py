"""kw problem torch, as a user runs it. 77 (skipped) where no Python has torch.

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
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
