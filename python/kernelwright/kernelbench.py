"""What is imported: a KernelBench task (Model, get_inputs, get_init_inputs), or a module class of a file."""

import importlib.util
import inspect
import os
import re
import sys

import torch

from .drawn import Draws
from .problem_text import Subject
from .sizes import Untold


def load(path):
    """The file as a Python module, its random numbers recorded."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("imported_task", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["imported_task"] = module
    spec.loader.exec_module(module)
    return module


def constants_of(file):
    """Whole numbers of the file, by name, as axes may be called."""
    return [(name, value) for name, value in vars(file).items()
            if isinstance(value, int) and not isinstance(value, bool) and value > 1 and not name.startswith("_")]


def summary(subject):
    """The first line of what a class or function says of itself, else its name."""
    first = (inspect.getdoc(subject) if subject.__doc__ else "").strip().splitlines()
    return first[0].strip() if first and first[0].strip() else subject.__name__


def problem_name(path):
    """level1/12_Some_name_.py → level1_12_some_name."""
    folder, stem = os.path.basename(os.path.dirname(os.path.abspath(path))), os.path.splitext(os.path.basename(path))[0]
    wanted = f"{folder}_{stem}" if re.fullmatch(r"level\d+", folder) else stem
    name = re.sub(r"_+", "_", re.sub(r"\W", "_", wanted.lower(), flags=re.ASCII)).strip("_")
    return name if re.match(r"[a-z_]", name) else f"task_{name}"


def without_dropout(module):
    """Random in training: off. Everything else stays in the mode that the task leaves it in."""
    dropped = False
    for each in module.modules():
        if isinstance(each, torch.nn.modules.dropout._DropoutNd) and each.training and each.p > 0:
            each.eval()
            dropped = True
    return dropped


def read_task(path, name=""):
    file = load(path)
    for needed in ("Model", "get_inputs"):
        if not hasattr(file, needed):
            raise Untold(f"no {needed}: not a KernelBench task")
    draws = Draws()
    with draws:
        initial = file.get_init_inputs() if hasattr(file, "get_init_inputs") else []
        model = file.Model(**initial) if isinstance(initial, dict) else file.Model(*initial)
        inputs = file.get_inputs()
    return subject(path, name, model, inputs, draws, constants_of(file))


def read_module(place, name=""):
    """FILE.py:CLASS(arguments) with `example_inputs` (a list, or a function that gives one) beside or in the class."""
    path, _, rest = place.rpartition(":") if ".py:" in place else (place, "", "")
    file = load(path)
    classes = [n for n, c in vars(file).items() if isinstance(c, type) and issubclass(c, torch.nn.Module) and c.__module__ == file.__name__]
    if not rest and len(classes) != 1:
        raise Untold(f"{len(classes)} modules in {path}: name one, as in {path}:{classes[0] if classes else 'Net'}")
    wanted = rest or classes[0]
    if not hasattr(file, wanted):
        raise Untold(f"{path} has no {wanted}; it has {', '.join(classes) or 'no module'}")
    cls = getattr(file, wanted)
    examples = getattr(cls, "example_inputs", None) or getattr(file, "example_inputs", None) or getattr(file, "get_inputs", None)
    if examples is None:
        raise Untold("no example inputs: define example_inputs() in the file, which gives the list of arguments of a call")
    draws = Draws()
    with draws:
        if isinstance(cls, type):
            initial = getattr(file, "init_inputs", None) or getattr(file, "get_init_inputs", list)
            model = cls(*initial())
        elif callable(cls):
            model = OfFunction(cls)
        else:
            raise Untold(f"{wanted} is neither a module nor a function")
        inputs = examples()
    return subject(path, name, model, inputs, draws, constants_of(file))


class OfFunction(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.forward = function


def subject(path, name, model, inputs, draws, constants):
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    dropped = without_dropout(model)
    description = summary(model.function if isinstance(model, OfFunction) else type(model)) + (" (dropout off: it is random)" if dropped else "")
    return Subject(name or problem_name(path), description, f"Sizes of {os.path.basename(path)}", model, inputs, draws.of, constants)
