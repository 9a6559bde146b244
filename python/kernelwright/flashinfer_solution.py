"""Candidates from FlashInfer-Bench solutions: the sources in a folder, with an entry of ours where the solution's takes pointers."""

import os
import re

from . import flashinfer_form

ENTRY = "kernelwright_entry.cu"
FOREIGN = {"tvm/ffi": "TVM's headers", "torch/": "PyTorch's headers", "ATen/": "PyTorch's headers", "pybind11": "pybind11"}


def inside(folder, path):
    whole = os.path.normpath(os.path.join(folder, path))
    if "\0" in path or os.path.isabs(path) or not whole.startswith(os.path.join(os.path.normpath(folder), "")):
        return None
    return whole


def write(solution, problem, folder):
    """Writes the folder; gives what it is worth in words."""
    try:
        flashinfer_form.check(solution, flashinfer_form.SOLUTION, "the solution")
    except flashinfer_form.Malformed as why:
        return f"no candidate: {why}"
    language = solution["spec"]["language"]
    if language not in ("cuda", "cpp"):
        return f"kept in {os.path.basename(folder)}'s problem only: its language is {language}, and candidates are CUDA"
    for source in solution["sources"]:
        path = inside(folder, source["path"])
        if path is None:
            return f"no candidate: the path {source['path']} leaves its folder"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(source["content"])
    entry, why = entry_text(solution, problem)
    if entry is None:
        return f"sources only, no KW_ENTRY: {why}"
    with open(os.path.join(folder, ENTRY), "w", encoding="utf-8") as file:
        file.write(entry)
    return "a candidate"


def entry_text(solution, problem):
    """KW_ENTRY around the solution's entry point; or None and the reason."""
    code = "\n".join(source["content"] for source in solution["sources"])
    if "KW_ENTRY" in code:
        return None, "it has one of its own"
    for header, whose in FOREIGN.items():
        if re.search(r'#\s*include\s*[<"]' + header, code):
            return None, f"it is written against {whose}; write KW_ENTRY(…) that launches its kernels"
    function = solution["spec"]["entry_point"].split("::")[-1]
    found = re.search(r'(extern\s+"C"\s+)?void\s+' + re.escape(function) + r"\s*\(([^()]*)\)\s*\{", code)
    if not found:
        return None, f"no void {function}(…) is defined in its sources"
    tensors = problem.inputs + problem.outputs
    given, entry = [], [f"kw::In {each.name}" for each in problem.inputs] + [f"kw::Out {each.name}" for each in problem.outputs]
    for parameter in filter(None, map(str.strip, found.group(2).split(","))):
        parameter = " ".join(parameter.split())
        shape = re.fullmatch(r"(.+?) ?(?:__restrict__ ?)?\b(\w+)", parameter)
        kind, name = (shape.group(1).strip(), shape.group(2)) if shape else (parameter, "")
        if "cudaStream_t" in kind:
            given.append("stream")
        elif "*" in kind and tensors:
            element = re.sub(r"\b(const|__restrict__)\b|\*", "", kind).strip()
            given.append(f"{tensors.pop(0).name}.data<{element}>()")
        elif name in problem.axes and re.fullmatch(r"(const\s+)?(int|int32_t|int64_t|size_t|unsigned)", kind):
            given.append(name)
            entry.append(f"int64_t {name}")
        else:
            return None, f"its parameter '{parameter}' is neither a tensor's pointer, an axis nor a stream"
    if tensors:
        return None, f"it takes fewer pointers than there are tensors ({tensors[0].name} is left)"
    prototype = f"{found.group(1) or ''}void {function}({found.group(2)});"
    return (f"// Gives the solution's entry point its arguments.\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
            f"#include <kernelwright/candidate.h>\n\n{prototype}\n\n"
            f"KW_ENTRY({', '.join(entry + ['cudaStream_t stream'])}) {{\n  {function}({', '.join(given)});\n}}\n"), ""


def with_sources_of(solution, folder):
    """The solution with its sources as they are in the folder, where they are there."""
    try:
        flashinfer_form.check(solution, flashinfer_form.SOLUTION, "the solution")
    except flashinfer_form.Malformed:
        return solution  # of which there is no candidate
    made = dict(solution)
    made["sources"] = []
    for source in solution["sources"]:
        path = inside(folder, source["path"])
        if path and os.path.isfile(path):
            with open(path, encoding="utf-8", newline="") as file:
                source = {**source, "content": file.read()}
        made["sources"].append(source)
    return made
