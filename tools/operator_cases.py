#!/usr/bin/env python3
"""Random cases of a problem file's operators with PyTorch's results, for the reference interpreter to agree with.

    operator_cases.py                       writes tests/golden/operators.golden (fixed seed)
    operator_cases.py --check PROGRAM [--seconds 60]
                                            fresh seeds through PROGRAM (kw_operator_cases_test), until one differs

Needs PyTorch (CPU). The statements of a case are Python as well as a problem file's text: PyTorch evaluates the very
text that the interpreter reads, with the functions of operator_case/vocabulary.py. The other files of operator_case/ have
what is generated and how far two honest evaluations may lie apart.
"""
import argparse
import ast
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

from operator_case import FAMILIES, LEFT_OUT, VOCABULARY, Random, widened

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "operators.golden"
HEAD = """\
# Operators of problem files as PyTorch {version} evaluates them in float64 (integers in int64); written by
# tools/operator_cases.py, seed {seed}. The test operator_cases compares the reference interpreter with them.
#   > statements; the last one assigns out     NAME dtype[shape] values, the inputs
#   = what PyTorch gives                       ~ how far from it is allowed: K ulp, or an absolute bound for each element;
#                                                no such line: the same number, a zero's sign included
# Left out, where the two differ by design (docs/formats/problem.md says how we do it):
"""


class Translation(ast.NodeTransformer):
    """and, or, not, / and ** of tensors."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = {ast.Div: "divide", ast.Pow: "power"}.get(type(node.op))
        return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], []) if name else node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        left = node.values[0]
        for right in node.values[1:]:
            left = ast.Call(ast.Name(name, ast.Load()), [left, right], [])
        return left

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return ast.Call(ast.Name("logical_not", ast.Load()), [node.operand], []) if isinstance(node.op, ast.Not) else node


def evaluate(statements, inputs):
    """The values of all names after the statements."""
    values = dict(VOCABULARY)
    values.update({name: widened(value) for name, (_, value) in inputs.items()})
    tree = Translation().visit(ast.parse("\n".join(statements)))
    exec(compile(ast.fix_missing_locations(tree), "case", "exec"), values)
    return values


def number(value):
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def numbers(tensor):
    return " ".join(number(v if tensor.dtype.is_floating_point else int(v)) for v in tensor.reshape(-1).tolist())


def described(dtype, tensor):
    shape = "[" + ", ".join(str(n) for n in tensor.shape) + "]"
    return f"{dtype}{shape} {numbers(tensor)}".rstrip()


def case_text(case):
    values = evaluate(case.statements, case.inputs)
    out = torch.as_tensor(values["out"])
    kind = "bool" if out.dtype == torch.bool else "f64" if out.dtype.is_floating_point else "i64"
    if kind == "f64":
        out = out.double()
    lines = [f"> {statement}" for statement in case.statements]
    lines += [f"{name} {described(dtype, widened(value))}" for name, (dtype, value) in case.inputs.items()]
    lines.append("= " + described(kind, out))
    if isinstance(case.bound, int):
        lines.append(f"~ {case.bound} ulp")
    elif case.bound is not None:
        first = next(iter(case.inputs))
        values |= {"eps": 2.0**-52, "n": values[first].numel() / max(1, out.numel()), "nan_to_num": torch.nan_to_num}
        bound = eval(case.bound, values)
        bound = torch.broadcast_to(torch.as_tensor(bound, dtype=torch.float64), out.shape).reshape(-1)
        lines.append("~ " + " ".join(f"{v:.2g}" for v in bound.tolist()))
    return "\n".join(lines) + "\n"


def cases_text(seed, scale=1.0):
    text, count = [], 0
    for family in FAMILIES:
        random = Random(f"{seed} {family.name}")
        text.append(f"\n# {family.name}: {family.why}\n")
        for _ in range(max(1, round(family.count * scale))):
            text.append(case_text(family.make(random)))
            count += 1
    return "".join(text), count


def head(seed):
    left_out = "".join(f"#   {line}\n" for line in LEFT_OUT)
    return HEAD.format(version=torch.__version__.split("+")[0], seed=seed) + left_out


def check(program, seconds):
    started, seed, total = time.time(), int(time.time()), 0
    while time.time() - started < seconds:
        text, count = cases_text(seed)
        with tempfile.NamedTemporaryFile("w", suffix=".golden", delete=False) as file:
            file.write(head(seed) + text)
        run = subprocess.run([program, file.name], capture_output=True, text=True)
        if run.returncode != 0:
            print(run.stdout + run.stderr, f"seed {seed}: the cases are in {file.name}", sep="\n")
            return 1
        pathlib.Path(file.name).unlink()
        total, seed = total + count, seed + 1
    print(f"{total} cases agree")
    return 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", metavar="PROGRAM")
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--out", type=pathlib.Path, default=GOLDEN)
    given = arguments.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    if given.check:
        return check(given.check, given.seconds)
    text, count = cases_text(given.seed)
    given.out.write_text(head(given.seed) + text)
    print(f"{given.out}: {count} cases, {given.out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
