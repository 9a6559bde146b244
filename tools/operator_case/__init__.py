"""The cases that ../operator_cases.py writes: the vocabulary in PyTorch, the families and their bounds."""
from . import pointwise, reductions, moves, windows, indexing  # noqa: F401  they enter their families, in this order
from .family import FAMILIES, LEFT_OUT
from .vocabulary import VOCABULARY, Random, widened

__all__ = ["FAMILIES", "LEFT_OUT", "VOCABULARY", "Random", "widened"]
