"""The form of FlashInfer-Bench's objects, as far as they are read: what is missing or of another kind is said with its place."""


class Malformed(Exception):
    """An object that is not what its format says."""


KINDS = {str: "a text", int: "a whole number", dict: "an object", list: "a list", (int, float, bool): "a number"}
TENSOR = {"shape?": [str], "dtype": str}
DEFINITION = {"name": str, "axes": {str: {"type?": str, "value?": int}}, "inputs": {str: TENSOR}, "outputs": {str: TENSOR}, "reference": str,
              "constraints?": [str]}
WORKLOAD = {"axes": {str: int}, "inputs": {str: {"type?": str, "value?": (int, float, bool)}}}
SOLUTION = {"spec": {"language": str, "entry_point": str}, "sources": [{"path": str, "content": str}]}
SIDECAR = {"path": str, "definition": dict, "files": [{"path": str, "kind": str, "objects": [dict]}]}


def check(value, form, place):
    """Malformed unless `value` has the form: a type, [form of each], {str: form of each}, or {"key": form, "key that may be absent?": form}."""
    kind = type(form) if isinstance(form, (dict, list)) else form
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Malformed(f"{place} is {repr(value)[:40]}; {KINDS[kind]} is meant")
    if isinstance(form, list):
        for i, each in enumerate(value):
            check(each, form[0], f"{place}[{i}]")
    elif isinstance(form, dict) and str in form:
        for key, each in value.items():
            check(each, form[str], f"{place}.{key}")
    elif isinstance(form, dict):
        for key, inner in form.items():
            name = key.removesuffix("?")
            if value.get(name) is not None:
                check(value[name], inner, f"{place}.{name}")
            elif not key.endswith("?"):
                raise Malformed(f"{place} has no {name}")
