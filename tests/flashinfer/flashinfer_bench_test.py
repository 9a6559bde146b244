"""Definitions of our own, imported and exported again. argv[1]: a kw to check the problem files with, if there is one."""

import contextlib
import copy
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
from kernelwright import flashinfer_bench, flashinfer_problem, flashinfer_solution  # noqa: E402

KW = sys.argv.pop() if len(sys.argv) > 1 else None

REFERENCE = """import torch


def run(x, table, indptr, eps, flip):
    '''Rows of x by table;
  its text keeps its own margin.'''
    y = x[table.long()] / (eps + 1)
    return (-y if flip else y), (y > 0)
"""

DEFINITION = {
    "name": "rows-of_h8", "op_type": "gather", "description": "Rows, \"chosen\"\nby a table", "tags": ["status:draft"], "x-ours": {"kept": [1, 2.5, None]},
    "axes": {"batch": {"type": "var", "description": "b"}, "len_indptr": {"type": "var"}, "num_pages": {"type": "var"},
             "h": {"type": "const", "value": 8}, "page_size": {"type": "const", "value": 1}},
    "constraints": ["len_indptr == batch + 1", "num_pages >= page_size", "batch == indptr[-1].item()"],
    "inputs": {"x": {"shape": ["num_pages", "h"], "dtype": "bfloat16"}, "page_table": {"shape": ["batch"], "dtype": "int32"},
               "indptr": {"shape": ["len_indptr"], "dtype": "int64"}, "eps": {"shape": None, "dtype": "float32"}, "flip": {"shape": None, "dtype": "bool"}},
    "outputs": {"and": {"shape": ["batch", "h"], "dtype": "float16"}, "mask": {"shape": ["batch", "h"], "dtype": "bool"}},
    "reference": REFERENCE,
}


def workload(uuid, **axes):
    return {"definition": "rows-of_h8", "solution": None, "evaluation": None, "workload": {
        "uuid": uuid, "axes": axes, "inputs": {"x": {"type": "random"}, "page_table": {"type": "safetensors", "path": "t.safetensors", "tensor_key": "t"},
                                               "indptr": {"type": "random"}, "eps": {"type": "scalar", "value": 0.25}, "flip": {"type": "scalar", "value": True}}}}


WORKLOADS = [workload("a-1", batch=4, len_indptr=5, num_pages=64), workload("a-2", batch=9, len_indptr=10, num_pages=2)]
PLAIN = """#include <cuda_fp16.h>
extern "C" void launch(const __nv_bfloat16* x, const int* __restrict__ table, const int64_t* indptr, const float* eps, const bool* flip,
                       __half* out, bool* mask, int batch, cudaStream_t stream) {
  // launches
}
"""


def solution(name, content, language="cuda", entry="main.cu::launch"):
    return {"name": name, "definition": "rows-of_h8", "author": "us", "spec": {"language": language, "target_hardware": ["H100"], "entry_point": entry},
            "sources": [{"path": "main.cu", "content": content}, {"path": "inc/a.h", "content": "// a\r\n"}]}


SOLUTIONS = [solution("plain", PLAIN), solution("tvm", "#include <tvm/ffi/function.h>\n"), solution("py", "def run(): pass\n", "python", "main.cu::run")]
TRACE = {"definition": "rows-of_h8", "solution": "plain", "workload": WORKLOADS[0]["workload"], "evaluation": {
    "status": "INCORRECT_NUMERICAL", "environment": {"hardware": "NVIDIA_H100", "libs": {"torch": "2.9"}}, "timestamp": "2026-01-01T00:00:00",
    "log": "", "correctness": {"max_relative_error": 0.5, "max_absolute_error": 1e30, "extra": {"rows": 3}}, "performance": None}}


def files_of(folder):
    found = {}
    for path in flashinfer_bench.files_below(folder, "l") + flashinfer_bench.files_below(folder, "n"):
        found[os.path.relpath(path, folder)] = flashinfer_bench.objects_of(path)
    return found


def mutants(value):
    """The value with something else in place of each of its parts, and without it."""
    for other in (None, -1, "a\nb\0\ud800", [1], {"a": 1}):
        if type(other) is not type(value) or other != value:
            yield other
    for key in range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else []:
        yield [*value[:key], *value[key + 1:]] if isinstance(value, list) else {name: part for name, part in value.items() if name != key}
        for part in mutants(value[key]):
            changed = copy.copy(value)
            changed[key] = part
            yield changed


def quiet(call, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        return call(*arguments), said.getvalue()


class RoundTrip(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.source, self.out, self.back = (os.path.join(self.place.name, name) for name in ("source", "out", "back"))
        self.write("definitions/gather/rows.json", [DEFINITION])
        self.write("workloads/gather/rows.jsonl", WORKLOADS)
        for one in SOLUTIONS:
            self.write(f"solutions/{one['name']}.json", [one])
        self.write("traces/rows.jsonl", [TRACE])

    def tearDown(self):
        self.place.cleanup()

    def write(self, path, objects):
        path = os.path.join(self.source, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(one) + "\n" for one in objects)

    def problem(self):
        return os.path.join(self.out, "rows_of_h8.problem")

    def edit(self, path, before, after):
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        self.assertIn(before, text)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text.replace(before, after))

    def test_everything_comes_back(self):
        failed, said = quiet(flashinfer_bench.main, ["import", self.source, "-o", self.out])
        self.assertEqual(failed, 0, said)
        self.assertIn("constraint not said: batch == indptr[-1].item()", said)
        self.assertIn("2 inputs of workloads are in files", said)
        failed, said = quiet(flashinfer_bench.main, ["export", self.out, "-o", self.back])
        self.assertEqual(failed, 0, said)
        self.assertEqual(files_of(self.back), files_of(self.source))
        self.assertEqual(len(files_of(self.back)), 6)

    def test_the_problem_says_what_the_definition_does(self):
        quiet(flashinfer_bench.run_import, [self.source], self.out)
        with open(self.problem(), encoding="utf-8") as file:
            text = file.read()
        for line in ('problem rows_of_h8: "Rows, \'chosen\' by a table"', "  h == 8", "  len_indptr == (batch + 1)", "  num_pages >= 1", "  page_size = 1",
                     "      '''Rows of x by table;", "    its text keeps its own margin.'''", "  x: bf16[num_pages, h]",
                     "  page_table: i32[batch] ~ integers(0, num_pages - 1)", "  eps: f32[] ~ constant(0.25)", "  flip: bool[] ~ constant(1)",
                     "      return run(x, page_table, indptr, eps.item(), flip.item())", "  and_: f16[batch, h]",
                     "  mask = python(run_with_numbers, x, page_table, indptr, eps, flip, shape=[batch, h], dtype=bool, output=1)",
                     "  smallest one: batch=1, len_indptr=2, num_pages=1",
                     '  real w2: batch=9, len_indptr=10, num_pages=2, eps ~ constant(0.25), flip ~ constant(1) "a-2"'):
            self.assertIn(line + "\n", text)
        if KW:
            checked = subprocess.run([KW, "problem", "check", self.problem()], capture_output=True, text=True, check=False)
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_export_refuses_a_problem_that_says_something_else(self):
        quiet(flashinfer_bench.run_import, [self.source], self.out)
        self.edit(self.problem(), "smallest one: batch=1", "smallest one: batch=2")  # workloads of ours may change
        self.assertEqual(quiet(flashinfer_bench.run_export, [self.out], self.back)[0], 0)
        self.edit(self.problem(), "h == 8", "h == 9")
        failed, said = quiet(flashinfer_bench.run_export, [self.out], self.back)
        self.assertEqual(failed, 1)
        self.assertIn("section axes is no longer what the definition says", said)

    def test_edited_sources_are_exported(self):
        quiet(flashinfer_bench.run_import, [self.source], self.out)
        self.edit(os.path.join(self.out, "plain/main.cu"), "// launches", "// launches well")
        quiet(flashinfer_bench.run_export, [self.out], self.back)
        changed = copy.deepcopy(SOLUTIONS[0])
        changed["sources"][0]["content"] = PLAIN.replace("// launches", "// launches well")
        self.assertEqual(files_of(self.back)["solutions/plain.json"], [changed])

    def test_candidates(self):
        said = quiet(flashinfer_bench.run_import, [self.source], self.out)[1]
        self.assertIn("plain: a candidate", said)
        self.assertIn("tvm: sources only, no KW_ENTRY: it is written against TVM's headers", said)
        self.assertIn("its language is python", said)
        with open(os.path.join(self.out, "plain", flashinfer_solution.ENTRY), encoding="utf-8") as file:
            entry = file.read()
        self.assertIn("KW_ENTRY(kw::In x, kw::In page_table, kw::In indptr, kw::In eps, kw::In flip, kw::Out and_, kw::Out mask, int64_t batch, "
                      "cudaStream_t stream) {\n  launch(x.data<__nv_bfloat16>(), page_table.data<int>(), indptr.data<int64_t>(), eps.data<float>(), "
                      "flip.data<bool>(), and_.data<__half>(), mask.data<bool>(), batch, stream);", entry)
        by_value = flashinfer_solution.entry_text(solution("v", PLAIN.replace("const float* eps", "float eps")), flashinfer_problem.problem_of(DEFINITION, []))
        self.assertEqual(by_value, (None, "its parameter 'float eps' is neither a tensor's pointer, an axis nor a stream"))

    def test_paths_stay_in_their_folder(self):
        self.write("solutions/out.json", [{**SOLUTIONS[0], "name": "out", "sources": [{"path": "../../escaped", "content": "x"}]}])
        said = quiet(flashinfer_bench.run_import, [self.source], self.out)[1]
        self.assertIn("the path ../../escaped leaves its folder", said)
        self.edit(os.path.join(self.out, "rows_of_h8.flashinfer.json"), "definitions/gather/rows.json", "../escaped.json")
        failed, said = quiet(flashinfer_bench.run_export, [self.out], self.back)
        self.assertEqual((failed, "leaves the folder" in said), (1, True))
        self.assertFalse(any("escaped" in name for name in os.listdir(self.place.name)))

    def test_no_object_crashes_the_import(self):
        for path, object_, others in (("definitions/gather/rows.json", DEFINITION, []), ("workloads/gather/rows.jsonl", WORKLOADS[0], WORKLOADS[1:]),
                                      ("solutions/plain.json", SOLUTIONS[0], []), ("traces/rows.jsonl", TRACE, [])):
            for mutant in mutants(object_):
                self.write(path, [mutant] + others)
                quiet(flashinfer_bench.run_import, [self.source], self.out)
            self.write(path, [object_] + others)

    def test_no_sidecar_crashes_the_export(self):
        quiet(flashinfer_bench.run_import, [self.source], self.out)
        path = os.path.join(self.out, "rows_of_h8.flashinfer.json")
        for mutant in mutants(flashinfer_bench.objects_of(path)[0]):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(mutant, file)
            quiet(flashinfer_bench.run_export, [self.out], self.back)

    def test_files_that_are_no_json(self):
        for content, reason in ((b"\xff\xfe{", "codec can't decode"), (b"[" * 100000, "recursion"), (b"[1]", "an object is meant"), (b"", "Expecting value")):
            with open(os.path.join(self.source, "definitions/gather/rows.json"), "wb") as file:
                file.write(content)
            failed, said = quiet(flashinfer_bench.run_import, [self.source], self.out)
            self.assertEqual(failed, 1)
            self.assertIn(reason, said)
            self.assertIn("rows.json: ", said)

    def test_what_cannot_be_said(self):
        for key, value, reason in (("outputs", {}, "it has no outputs"), ("reference", "def walk(x): pass", "defines no function run"),
                                   ("inputs", {"x": {"shape": ["z"], "dtype": "int8"}}, "axis 'z', which is none"),
                                   ("inputs", {"x": {"shape": ["h"], "dtype": "complex64"}}, "dtype complex64 is unknown"),
                                   ("axes", {**DEFINITION["axes"], "free": {"type": "var"}}, "axis free is in no shape"), ("axes", None, "has no axes"),
                                   ("axes", {**DEFINITION["axes"], "h": {"type": "const", "value": "8\\n  x"}}, "axes.h.value is '8.*a whole number is meant"),
                                   ("axes", {**DEFINITION["axes"], "h": {"type": "const", "value": 0}}, "axis h is constant, but its value is 0"),
                                   ("inputs", {"x": {"shape": [["h"]], "dtype": "int8"}}, r"inputs.x.shape\[0\] is .*; a text is meant")):
            with self.assertRaisesRegex(flashinfer_problem.Unsayable, reason):
                flashinfer_problem.problem_of({**DEFINITION, key: value}, [])

    def test_verdicts_and_traces(self):
        wrong = {"verdict": "wrong", "device": "PTX emulator", "decided_by": "values", "outcome": {"metrics": {"max_rel": 0.5, "max_abs": "inf"}}}
        trace = flashinfer_bench.trace_of(wrong, DEFINITION, WORKLOADS[0]["workload"], SOLUTIONS[0], "2026-01-01")
        self.assertEqual(trace["evaluation"]["status"], "INCORRECT_NUMERICAL")
        self.assertEqual(trace["evaluation"]["correctness"], {"max_relative_error": 0.5, "max_absolute_error": "inf"})
        self.assertEqual(flashinfer_bench.verdict_of(trace), "wrong")
        self.assertIsNone(flashinfer_bench.verdict_of(WORKLOADS[0]))
        with self.assertRaisesRegex(flashinfer_bench.Untold, "has times, and judging takes none"):
            flashinfer_bench.trace_of({**wrong, "verdict": "correct"}, DEFINITION, {}, SOLUTIONS[0], "")


if __name__ == "__main__":
    unittest.main()
