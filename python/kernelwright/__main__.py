"""python -m kernelwright import kernelbench|module FILE… -o FOLDER
python -m kernelwright import|export flashinfer PLACE… -o FOLDER
python -m kernelwright torch PROBLEM STYLE          prints the reference as a PyTorch function (to_torch.py)
python -m kernelwright device PROBLEM MANNER WHERE [FILE]  a device process that computes it (torch_device.py)

Writes FOLDER/NAME.problem and FOLDER/NAME.json: what was found, or why not. With --check FOLDER/NAME.check/ too: inputs and
the module's outputs at one small workload. `kw problem import` runs this in its jail.
"""

import argparse
import json
import os
import resource
import sys
import warnings


def import_one(kind, place, folder, check, name):
    from . import kernelbench
    from .problem_text import Imported
    from .sizes import Untold
    report = {"file": os.path.basename(place), "name": name or kernelbench.problem_name(place.split(".py:")[0]), "imported": False, "reason": ""}
    try:
        subject = (kernelbench.read_task if kind == "kernelbench" else kernelbench.read_module)(place, name)
        report["name"] = subject.name
        imported = Imported(subject)
        text = imported.text()
    except Untold as untold:
        report["reason"] = str(untold)
    except MemoryError:
        report["reason"] = "out of memory"
    except Exception as error:  # the task is arbitrary code: whatever it raises is the reason
        lines = str(error).strip().splitlines()
        report["reason"] = f"{type(error).__name__}: {lines[0][:300] if lines else ''}"
        if os.environ.get("KW_IMPORT_TRACEBACK"):
            raise
    else:
        report.update(imported=True, native=dict(imported.emitter.native), opaque=dict(imported.emitter.opaque),
                      untold=imported.emitter.untold, unused=imported.unused,
                      axes=len(imported.real), fixed=imported.why_fixed, inputs=len(imported.inputs),
                      approximate=[each.name for each in imported.inputs if not each.drawn.exact],
                      emulator=any(role == "emulator" for role, _, _ in imported.workloads))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, subject.name + ".problem"), "w", encoding="utf-8") as file:
            file.write(text)
        if check:
            report["check"] = answer(imported, os.path.join(folder, subject.name + ".check"))
    with open(os.path.join(folder, report["name"] + ".json"), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    return report


def answer(imported, folder):
    from . import check
    chosen = check.workload_for(imported)
    if chosen is None:
        return {"reason": "every workload is too large to run here"}
    try:
        if not check.write_answer(imported, folder, chosen[1]):
            return {"reason": "the module makes tensors that are inputs of the problem"}
    except Exception as error:
        if os.environ.get("KW_IMPORT_TRACEBACK"):
            raise
        return {"reason": f"the module does not run at {chosen[0]}: {type(error).__name__}: {str(error)[:200]}"}
    return {"workload": chosen[0]}


def main(arguments):
    if arguments[:1] == ["torch"]:   # kw problem torch
        from . import to_torch
        return to_torch.main(*arguments[1:])
    if arguments[:1] == ["device"]:
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        from . import torch_device
        warnings.simplefilter("ignore")
        return torch_device.main(*arguments[1:])
    if arguments[1:2] == ["flashinfer"]:  # no torch is needed, and no code runs
        from . import flashinfer_bench
        return flashinfer_bench.main(arguments[:1] + arguments[2:])
    parser = argparse.ArgumentParser(prog="kernelwright")
    parser.add_argument("command", choices=["import"])
    parser.add_argument("kind", choices=["kernelbench", "module"], help="or flashinfer, which has options of its own")
    parser.add_argument("files", nargs="+")
    parser.add_argument("-o", "--out", default=".")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--name", default="")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    import logging
    logging.disable(logging.WARNING)
    sys.setrecursionlimit(20000)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import torch
    torch.set_num_threads(1)
    os.makedirs(given.out, exist_ok=True)
    failed = 0
    for place in given.files:
        report = import_one(given.kind, place, given.out, given.check, given.name)
        failed += not report["imported"]
        print(f"{report['file']}: {report['name'] + '.problem' if report['imported'] else report['reason']}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
