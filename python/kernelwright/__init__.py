"""Problem files from PyTorch modules. Run by `kw problem import`; docs/import.md says how."""
