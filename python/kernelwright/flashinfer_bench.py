"""Problems from FlashInfer-Bench and back: definitions, workloads, solutions and traces.

The format is that of https://github.com/flashinfer-ai/flashinfer-bench (docs/flashinfer-trace): a folder with definitions/*.json,
workloads/*.jsonl, solutions/*.json and traces/*.jsonl; or a definition alone. docs/import.md says what becomes of what.

Nothing is lost: beside NAME.problem lies NAME.flashinfer.json with every object as it was read. Export writes those back, after
checking that the problem still says what the definition says; sources of solutions come from the candidate's folder.
"""

import argparse
import json
import os
import re
import sys

from . import flashinfer_form, flashinfer_problem, flashinfer_solution

SIDECAR = ".flashinfer.json"
SCHEMA = "kernelwright/flashinfer/1"

# The words of verdicts (docs/formats/verdict.md) for a status of an evaluation, and the other way round. PASSED is not made of a
# verdict: it needs times, and judging takes none.
VERDICTS = {"PASSED": "correct", "INCORRECT_NUMERICAL": "wrong", "INCORRECT_SHAPE": "contract-violation", "INCORRECT_DTYPE": "contract-violation",
            "RUNTIME_ERROR": "unsafe", "COMPILE_ERROR": "compile-error", "TIMEOUT": "timeout"}
STATUSES = {"wrong": "INCORRECT_NUMERICAL", "compile-error": "COMPILE_ERROR", "timeout": "TIMEOUT", "unsafe": "RUNTIME_ERROR",
            "unrecordable": "RUNTIME_ERROR", "contract-violation": "RUNTIME_ERROR", "nondeterministic": "RUNTIME_ERROR"}


class Untold(Exception):
    """What a problem file, or the other format, cannot say; the message is for people."""


def objects_of(path):
    """The JSON objects of a .json or .jsonl file."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        objects = [json.loads(line) for line in text.split("\n") if line.strip()] if path.endswith(".jsonl") else [json.loads(text)]
        flashinfer_form.check(objects, [dict], "the file")
        json.dumps(objects, ensure_ascii=False).encode()  # half a surrogate pair can be read, but not be written
    except (ValueError, RecursionError, flashinfer_form.Malformed) as error:
        raise Untold(f"{path}: {error}") from None
    return objects


def files_below(folder, ending):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(folder) for name in names if name.endswith(ending))


class Collection:
    """One definition with what belongs to it, each with the path that it has in its folder."""

    def __init__(self, path, definition):
        self.path, self.definition = path, definition
        self.files = []  # {"path", "kind": workloads | solutions | traces, "objects"}

    def objects(self, kind):
        return [each for file in self.files if file["kind"] == kind for each in file["objects"]]

    def sidecar(self, problem):
        return {"schema": SCHEMA, "problem": problem, "path": self.path, "definition": self.definition, "files": self.files}


def read(place):
    """The collections of a folder, or of a definition's file."""
    if not os.path.isdir(place):
        return [Collection(os.path.join("definitions", os.path.basename(place)), one) for one in objects_of(place)]
    found = {}
    for path in files_below(os.path.join(place, "definitions"), ".json"):
        for one in objects_of(path):
            if str(one.get("name")) in found:
                raise Untold(f"{path}: there is another definition {one.get('name')}")
            found[str(one.get("name"))] = Collection(os.path.relpath(path, place), one)
    if not found:
        raise Untold(f"{place} has no definitions/*.json")
    for kind, ending in (("workloads", ".jsonl"), ("solutions", ".json"), ("traces", ".jsonl")):
        for path in files_below(os.path.join(place, kind), ending):
            objects = objects_of(path)
            names = {str(one.get("definition")) for one in objects}
            if len(names) > 1 or not names <= set(found):
                raise Untold(f"{path}: every line must be of one definition that is there; these are of {', '.join(sorted(names))}")
            for name in names:
                found[name].files.append({"path": os.path.relpath(path, place), "kind": kind, "objects": objects})
    return list(found.values())


def write_json(path, value):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, ensure_ascii=False)
        file.write("\n")


def import_collection(collection, out):
    """Writes NAME.problem, its sidecar and its candidates; gives the lines of a report."""
    problem = flashinfer_problem.problem_of(collection.definition, [one.get("workload", one) for one in collection.objects("workloads")])
    said = [f"{problem.name}.problem: {len(collection.objects('workloads'))} workloads"] + [f"  {note}" for note in problem.notes]
    os.makedirs(out, exist_ok=True)
    write_json(os.path.join(out, problem.name + SIDECAR), collection.sidecar(problem.name + ".problem"))
    with open(os.path.join(out, problem.name + ".problem"), "w", encoding="utf-8") as file:
        file.write(problem.text)
    for solution in collection.objects("solutions"):
        folder = os.path.join(out, candidate_folder(solution))
        said.append(f"  {candidate_folder(solution)}: {flashinfer_solution.write(solution, problem, folder)}")
    return said


def candidate_folder(solution):
    return re.sub(r"[^\w.-]", "_", str(solution.get("name"))).lstrip(".") or "solution"


def export_problem(path, out):
    """Writes the objects of PATH's sidecar below `out`; gives the paths."""
    base = path.removesuffix(".problem")
    if not os.path.exists(base + SIDECAR):
        raise Untold(f"{base}{SIDECAR} is not there: only what came from FlashInfer-Bench goes back to it")
    kept = objects_of(base + SIDECAR)[0]
    if kept.get("schema") != SCHEMA:
        raise Untold(f"{base}{SIDECAR} is not of schema {SCHEMA}")
    flashinfer_form.check(kept, flashinfer_form.SIDECAR, base + SIDECAR)
    collection = Collection(kept["path"], kept["definition"])
    collection.files = kept["files"]
    workloads = [one.get("workload", one) for one in collection.objects("workloads")]
    with open(path, encoding="utf-8") as file:
        differing = flashinfer_problem.differing_section(file.read(), flashinfer_problem.problem_of(collection.definition, workloads).text)
    if differing:
        raise Untold(f"{path}: section {differing} is no longer what the definition says; undo that, or edit the definition in "
                     f"{os.path.basename(base)}{SIDECAR} likewise")
    written = [inside(out, collection.path)]
    write_json(written[0], collection.definition)
    for file in collection.files:
        written.append(inside(out, file["path"]))
        objects = file["objects"]
        if file["kind"] == "solutions":
            objects = [flashinfer_solution.with_sources_of(one, os.path.join(os.path.dirname(path), candidate_folder(one))) for one in objects]
        if written[-1].endswith(".jsonl"):
            os.makedirs(os.path.dirname(written[-1]), exist_ok=True)
            with open(written[-1], "w", encoding="utf-8") as stream:
                stream.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)
        else:
            for one in objects[:1]:
                write_json(written[-1], one)
    return written


def inside(folder, path):
    """`path` below `folder`; a sidecar may come from anywhere."""
    whole = os.path.normpath(os.path.join(folder, path))
    if "\0" in path or os.path.isabs(path) or not whole.startswith(os.path.join(os.path.normpath(folder), "")):
        raise Untold(f"the path {path} leaves the folder")
    return whole


def trace_of(verdict, definition, workload, solution, timestamp):
    """A trace of what `kw judge --json` printed."""
    word = verdict["verdict"]
    if word not in STATUSES:
        why = "the trace of a passed evaluation has times, and judging takes none" if word == "correct" else "it claims nothing"
        raise Untold(f"the verdict {word} has no trace: {why}")
    evaluation = {"status": STATUSES[word], "environment": {"hardware": verdict["device"], "libs": {}}, "timestamp": timestamp,
                  "log": f"kernelwright: {word}, decided by {verdict['decided_by']}"}
    if word == "wrong":
        metrics = verdict["outcome"]["metrics"]
        evaluation["correctness"] = {"max_relative_error": metrics["max_rel"], "max_absolute_error": metrics["max_abs"]}
    return {"definition": definition["name"], "workload": workload, "solution": solution["name"], "evaluation": evaluation}


def verdict_of(trace):
    """The word of the verdict that a trace amounts to; None for a workload."""
    return VERDICTS[trace["evaluation"]["status"]] if trace.get("evaluation") else None


def run_import(places, out):
    """Prints a report; gives the number of definitions that could not be said."""
    failed = 0
    for place in places:
        try:
            collections = read(place)
        except (Untold, OSError) as error:
            print(f"{place}: {error}")
            failed += 1
            continue
        for collection in collections:
            try:
                print("\n".join(import_collection(collection, out)))
            except (Untold, flashinfer_problem.Unsayable, OSError) as error:
                print(f"{collection.path}: {error}")
                failed += 1
    return failed


def run_export(places, out):
    failed = 0
    for place in places:
        for path in files_below(place, ".problem") if os.path.isdir(place) else [place]:
            try:
                print("\n".join(export_problem(path, out)))
            except (Untold, flashinfer_problem.Unsayable, flashinfer_form.Malformed, OSError) as error:
                print(f"{path}: {error}")
                failed += 1
    return failed


def main(arguments):
    parser = argparse.ArgumentParser(prog="kernelwright", description="FlashInfer-Bench's format (docs/import.md).")
    parser.add_argument("command", choices=["import", "export"])
    parser.add_argument("places", nargs="+", help="import: a folder with definitions/, or a definition; export: problems, or folders of them")
    parser.add_argument("-o", "--out", default=".")
    given = parser.parse_args(arguments)
    return 1 if (run_import if given.command == "import" else run_export)(given.places, given.out) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
