"""What cuBLASLt and cuDNN have of every problem, against libraries.golden (KW_UPDATE=1 writes it); and of cases that the collection lacks. No torch.

    recognition_test.py [KW]    with KW the cases are also checked to be problems
"""

import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "python")]

from kernelwright.expression_graph import NoOperator
from kernelwright.find_attention import FoundForCudnn
from kernelwright.find_product import FoundProduct
from kernelwright.library_function import LibraryFunction
from kernelwright.problem_file import ProblemFile
from library_cases import CASES, text_of

# Beginnings of what a case says of a refusal, whose whole text has a place too.
REFUSALS = ("the problem", "neither", "(it has", "its ", "cuBLASLt multiplies", "softmax()")


def found(text, manner, outer_scales=True):
    problem = ProblemFile(text)
    try:
        made = FoundProduct(problem, outer_scales) if manner == "cublaslt" else FoundForCudnn(problem)
    except NoOperator as refusal:
        if not str(refusal).startswith(manner + ": "):
            sys.exit(f"recognition_test: {problem.name}: the refusal does not begin with its manner: {refusal}")
        return str(refusal)[len(manner) + 2:]
    for style in ("stored", "wide"):
        call = {"cublaslt": "cublaslt.product(", "cudnn": "cudnn."}[manner]
        if call not in LibraryFunction(made.problem, style).text():
            sys.exit(f"recognition_test: {problem.name}: the function of style {style} does not call {call}")
    return ", ".join(made.what) + ("; " + ", ".join(made.rest) + " in PyTorch" if made.rest else "")


def main(kw=None):
    lines = []
    for path in sorted(glob.glob(os.path.join(HERE, "..", "..", "problems", "*.problem"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for manner in ("cublaslt", "cudnn"):
            lines.append(f"{os.path.basename(path)[:-8]} {manner}: {found(text, manner)}\n")
    golden = os.path.join(HERE, "libraries.golden")
    if os.environ.get("KW_UPDATE"):
        with open(golden, "w", encoding="utf-8") as file:
            file.writelines(lines)
    with open(golden, encoding="utf-8") as file:
        expected = file.readlines()
    differences = [f"-{old}+{new}" for old, new in zip(expected, lines) if old != new]
    if differences or len(expected) != len(lines):
        sys.exit("recognition_test: libraries.golden says otherwise (KW_UPDATE=1 writes it anew):\n" + "".join(differences) + f"{len(lines)} lines, not {len(expected)}")
    for name, inputs, output, reference, *wanted in CASES:
        text = text_of(name, inputs, output, reference)
        for manner, words in zip(("cublaslt", "cudnn"), wanted):
            got = found(text, manner)
            refusal = words.startswith(REFUSALS)
            if words not in got if refusal else got != words:
                sys.exit(f"recognition_test: {name}, {manner}: got '{got}', expected '{words}'")
        if kw:
            with tempfile.TemporaryDirectory() as folder:
                with open(f"{folder}/{name}.problem", "w", encoding="utf-8") as file:
                    file.write(text)
                done = subprocess.run([kw, "problem", "check", f"{folder}/{name}.problem"], capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"recognition_test: {name} is no problem\n{done.stdout}{done.stderr}")
    scaled = dict((name, text_of(name, *rest[:3])) for name, *rest in CASES)["fp8_bias"]
    if (without := found(scaled, "cublaslt", False)) != "product; +, * in PyTorch":
        sys.exit(f"recognition_test: without vectors of scales: '{without}'")
    print(f"{len(lines)} answers as in libraries.golden, {len(CASES)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
