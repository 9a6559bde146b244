"""Problem files from PyTorch modules, run by `kw problem import` (docs/import.md), and what candidates in Python import."""

from .candidate import empty, entry, zeros
