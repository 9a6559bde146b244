"""A candidate in Python: ModelNew of a file, as KernelBench has them, called with a problem's inputs.

Inputs that are called like a parameter or buffer of the module, with _ for its dots, take that one's place in each call; the others
are the arguments of forward, in the problem's order. get_init_inputs() of the file, where it has one, gives the constructor's arguments.
Nothing is kept from it: what it computes with has to come from its arguments.
"""

import importlib.util
import os
import sys

import torch
from torch.func import functional_call


class Unusable(Exception):
    pass


class Module:
    def __init__(self, path, problem, where):
        sys.path.insert(0, os.path.dirname(path))
        spec = importlib.util.spec_from_file_location("candidate", path)
        file = importlib.util.module_from_spec(spec)
        sys.modules["candidate"] = file
        spec.loader.exec_module(file)
        if not hasattr(file, "ModelNew"):
            raise Unusable(f"{os.path.basename(path)} has no class ModelNew")
        initial = file.get_init_inputs() if hasattr(file, "get_init_inputs") else []
        try:
            self.model = (file.ModelNew(**initial) if isinstance(initial, dict) else file.ModelNew(*initial)).to(where)
        except TypeError as error:
            raise Unusable(f"ModelNew is not made of {len(initial)} arguments: {error}; get_init_inputs() in the file gives them") from error
        self.names = [each.name for each in problem.inputs]
        owned = [name for name, _ in [*self.model.named_parameters(), *self.model.named_buffers()]]
        self.state = {name: name.replace(".", "_") for name in owned if name.replace(".", "_") in self.names}
        self.arguments = [name for name in self.names if name not in self.state.values()]

    def __call__(self, *tensors):
        given = dict(zip(self.names, tensors))
        results = functional_call(self.model, {name: given[ours] for name, ours in self.state.items()}, tuple(given[name] for name in self.arguments))
        results = tuple(results) if isinstance(results, (list, tuple)) else (results,)
        for each in results:
            if type(each) is not torch.Tensor:   # a subclass may compute when it is looked at
                raise Unusable(f"ModelNew gives a {type(each).__name__}, no tensor")
        return tuple(each.detach().contiguous() for each in results)
