"""Problem text as PyTorch functions: the text alone, which needs no torch. Run: python3 -m unittest discover -s python/tests"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from kernelwright import to_torch  # noqa: E402
from kernelwright.problem_file import ProblemFile  # noqa: E402


def body(statements, style, inputs="x: f16[M, N]", outputs="y: f16[M, N]"):
    parts = [f"problem p: \"# no comment\"\naxes:\n  M, N >= 1,\n  F == 2\nattributes:\n  eps = 1e-5  # a comment\ninputs:\n  {inputs}\noutputs:\n  {outputs}\nreference:\n"]
    text = "".join(parts + [f"  {statement}\n" for statement in statements]) + "workloads:\n  smallest one: M=1, N=1\n"
    made = to_torch.Function(ProblemFile(text), style).text()
    return made[made.index("def "):].rstrip().split("\n")


class ToTorch(unittest.TestCase):
    def test_styles_differ_in_what_is_computed_in(self):
        statements = ["p: bf16 = x / sqrt(N)", "y = sum(p, axis=-1, keepdims=true) * x"]
        self.assertEqual(body(statements, "stored"),
                         ["def p(x, *, N):", "    p = (x / math.sqrt(N)).to(torch.bfloat16)", "    y = torch.sum(p, dim=-1, keepdim=True) * x",
                          "    return y.to(torch.float16)"])
        self.assertEqual(body(statements, "wide"),
                         ["def p(x, *, N):", "    x_f32 = x.float()", "    p = (x_f32 / math.sqrt(N)).to(torch.bfloat16)",
                          "    y = torch.sum(p, dim=-1, keepdim=True, dtype=torch.float32) * x", "    return y.to(torch.float16)"])
        self.assertEqual(body(statements, "reference"),
                         ["def p(x, *, N):", "    p = x / math.sqrt(N)", "    y = torch.sum(p, dim=-1, keepdim=True) * x", "    return y"])

    def test_what_lies_out_of_order_is_made_dense(self):
        self.assertEqual(body(["y = transpose(x)"], "stored")[-1], "    return y.contiguous()")

    def test_a_real_value_of_an_integer_output_is_rounded_within_its_range(self):
        self.assertEqual(body(["y = x"], "stored", outputs="y: i8[M, N]")[-1], "    return torch.clamp(torch.round(y), -128, 127).to(torch.int8)")

    def test_one_call_gives_an_extreme_and_its_place(self):
        lines = body(["y = max(x, axis=-1)", "i = argmax(x, axis=-1)"], "stored", outputs="y: f16[M]\n  i: i64[M]")
        self.assertEqual(lines[1:4], ["    extreme = torch.max(x, dim=-1)", "    y = extreme.values", "    i = extreme.indices"])

    def test_names_of_the_text_hide_no_others(self):
        lines = body(["largest = topk(x, F)", "y = largest + topk(x, F, axis=0) + eps"], "stored")
        self.assertEqual(lines[1:4], ["    eps = 1e-05", "    largest_ = torch.topk(x, F, dim=-1)", "    largest = largest_.values"])
        self.assertRaisesRegex(to_torch.Untranslatable, "'torch'", body, ["torch = x", "y = torch"], "stored")

    def test_what_has_no_translation_is_named_with_its_line(self):
        for statement, said in (("y = cbrt(x)", r"line 12: no PyTorch is known for cbrt\(\)"), ("y = cast(x, f16, rounding='zero')", "nearest even only"),
                                ("y: e2m1 = x", "no tensors of e2m1")):
            self.assertRaisesRegex(to_torch.Untranslatable, said, body, [statement], "stored")


if __name__ == "__main__":
    unittest.main()
