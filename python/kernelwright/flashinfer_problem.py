"""The text of a problem file from a FlashInfer-Bench definition and its workloads."""

import ast
import re

from . import flashinfer_form

DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
          "float4_e2m1": "e2m1", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32",
          "uint16": "u16", "uint8": "u8", "bool": "bool"}
RESERVED = {"and", "or", "not", "true", "false", "True", "False", "None", "inf", "nan"}
MOST_REAL = 200  # of the 256 workloads that a problem may have
SECTIONS = ("problem", "axes", "attributes", "python", "inputs", "outputs", "reference")  # what a definition decides


class Unsayable(Exception):
    """What a problem file cannot say."""


class Problem:
    def __init__(self, name, text, inputs, outputs, axes, notes):
        self.name, self.text, self.inputs, self.outputs, self.axes, self.notes = name, text, inputs, outputs, axes, notes


class Tensor:
    def __init__(self, name, spec, names):
        if spec.get("dtype") not in DTYPES:
            raise Unsayable(f"tensor {name}: dtype {spec.get('dtype')} is unknown")
        self.source, self.name = name, names[name]
        self.dtype = DTYPES[spec["dtype"]]
        self.scalar = spec.get("shape") is None
        self.axes = [names[axis] for axis in spec.get("shape") or []]

    def text(self):
        return f"{self.name}: {self.dtype}[{', '.join(self.axes)}]"

    def whole(self):
        return self.dtype[0] in "iu"


def identifier(word, taken):
    made = re.sub(r"\W", "_", word, flags=re.ASCII) or "_"
    if made[0].isdigit():
        made = "_" + made
    while made in taken or made in RESERVED:
        made += "_"
    taken.add(made)
    return made


def plain(words, longest=300):
    """One line without what ends a string."""
    return " ".join(str(words).replace('"', "'").split())[:longest]


def constraint_text(expression, names):
    """A Python comparison of sizes as problem files write it, axes by `names`; None when it is something else."""
    relations = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
    operators = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}

    def size(node):
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return str(node.value)
        if isinstance(node, ast.BinOp) and type(node.op) in operators:
            left, right = size(node.left), size(node.right)
            return f"({left} {operators[type(node.op)]} {right})" if left and right else None
        return None

    try:
        tree = ast.parse(expression, mode="eval").body
        if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in relations:
            return None
        left, right = size(tree.left), size(tree.comparators[0])
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the parser's stack is its own
        return None
    return f"{left} {relations[type(tree.ops[0])]} {right}" if left and right else None


def distribution(tensor, spec_axes, pages, scalars):
    """How an input is filled where no workload says. Guesses, by dtype and name: the format says `random`."""
    name = tensor.source.lower()
    if tensor.scalar and tensor.source in scalars:
        return f" ~ constant({number(scalars[tensor.source])})"
    if tensor.dtype == "bool":
        return " ~ integers(0, 1)"
    if tensor.whole():
        if re.search(r"(indices|page_table|block_table)$", name) and pages:
            return f" ~ integers(0, {pages} - 1)"
        return " ~ integers(0, 1)" if tensor.scalar else " ~ integers(0, 3)"
    if tensor.scalar:
        return " ~ constant(1e-06)" if "eps" in name else " ~ constant(0.125)" if "scale" in name else " ~ uniform(0.5, 1)"
    return ""


def number(value):
    return repr(float(value)) if isinstance(value, float) else str(int(value))


class Sizes:
    """Values for the free axes that satisfy the constraints: an axis that one defines (`len_indptr == batch + 1`) follows."""

    def __init__(self, free, fixed, constraints):
        self.free, self.fixed, self.constraints = free, fixed, constraints
        self.defined = {}
        for text in constraints:
            left, relation, right = re.split(r" (==|!=|<=|>=|<|>) ", text)
            if relation == "==" and left in free and left not in self.defined and left not in right.split():
                self.defined[left] = right

    def fill(self, sizes):
        """All free axes, the first of `sizes` for the first and so on; None where that breaks a constraint."""
        values = dict(self.fixed)
        independent = [axis for axis in self.free if axis not in self.defined]
        for i, axis in enumerate(independent):
            values[axis] = sizes[i % len(sizes)]
        try:
            for axis, text in self.defined.items():
                values[axis] = eval(text, {"__builtins__": {}}, values)  # of our own making: names, numbers, + - * // %
            good = all(eval(text, {"__builtins__": {}}, values) for text in self.constraints)
        except (NameError, ZeroDivisionError):
            return None
        return {axis: values[axis] for axis in self.free} if good and all(values[axis] >= 1 for axis in self.free) else None


def problem_of(definition, workloads):
    """The Problem; Unsayable says why there is none."""
    try:
        flashinfer_form.check(definition, flashinfer_form.DEFINITION, "the definition")
        for i, workload in enumerate(workloads):
            flashinfer_form.check(workload, flashinfer_form.WORKLOAD, f"workload {i + 1}")
    except flashinfer_form.Malformed as why:
        raise Unsayable(str(why)) from None
    for axis, spec in definition["axes"].items():
        if spec.get("type") == "const" and (spec.get("value") or 0) < 1:
            raise Unsayable(f"axis {axis} is constant, but its value is {spec.get('value')}; 1 or more is meant")
    for i, workload in enumerate(workloads):
        for name, spec in workload["inputs"].items():
            if spec.get("type") == "scalar" and spec.get("value") is None:
                raise Unsayable(f"workload {i + 1}: the scalar {name} has no value")
    if not re.search(r"^def run\b", definition["reference"], re.MULTILINE):
        raise Unsayable("its reference defines no function run")
    if not definition["outputs"]:
        raise Unsayable("it has no outputs")
    taken, notes = set(), []
    names = {}
    for group in ("axes", "inputs", "outputs"):
        for word in definition[group]:
            if word in names:
                raise Unsayable(f"{word} is the name of two things")
            names[word] = identifier(word, taken)
    try:
        inputs = [Tensor(name, spec, names) for name, spec in definition["inputs"].items()]
        outputs = [Tensor(name, spec, names) for name, spec in definition["outputs"].items()]
    except KeyError as axis:
        raise Unsayable(f"a shape names the axis {axis}, which is none") from None
    shaped = {axis for tensor in inputs + outputs for axis in tensor.axes}
    fixed = {names[axis]: spec["value"] for axis, spec in definition["axes"].items() if spec.get("type") == "const"}
    free = [names[axis] for axis, spec in definition["axes"].items() if spec.get("type") != "const"]
    for axis in free:
        if axis not in shaped:
            raise Unsayable(f"axis {axis} is in no shape: nothing could tell a kernel its size")
    attributes = {axis: value for axis, value in fixed.items() if axis not in shaped}
    sizes = {word: str(attributes.get(name, name)) for word, name in names.items()}
    constraints = []
    for expression in definition.get("constraints") or []:
        text = constraint_text(expression, sizes)
        if text:
            constraints.append(text)
        else:
            notes.append(f"constraint not said: {plain(expression)}")
    scalars = {}
    for workload in reversed(workloads):
        scalars.update({name: spec["value"] for name, spec in workload["inputs"].items() if spec.get("type") == "scalar"})
    pages = next((names[axis] for axis in definition["axes"] if re.search("num_.*(pages|blocks)", axis) and names[axis] in shaped), None)

    text = f'problem {identifier(definition["name"], set())}: "{plain(definition.get("description") or definition.get("op_type"))}"\n'
    text += "\naxes:\n" + "".join(f"  {axis} >= 1\n" for axis in free)
    text += "".join(f"  {axis} == {value}\n" for axis, value in fixed.items() if axis in shaped)
    text += "".join(f"  {each}\n" for each in constraints)
    if attributes:
        text += "\nattributes:\n" + "".join(f"  {axis} = {value}\n" for axis, value in attributes.items())
    section, function = python_section(definition["reference"], inputs)
    text += "\npython:\n" + section
    text += "\ninputs:\n" + "".join(f"  {each.text()}{distribution(each, definition['axes'], pages, scalars)}\n" for each in inputs)
    text += "\noutputs:\n" + "".join(f"  {each.text()}\n" for each in outputs)
    operands = "".join(f", {each.name}" for each in inputs)
    text += "\nreference:\n" + "".join(
        f"  {each.name} = python({function}{operands}, shape=[{', '.join(each.axes)}], dtype={each.dtype}, output={i})\n"
        for i, each in enumerate(outputs))
    text += "\nworkloads:\n" + workload_lines(Sizes(free, fixed, constraints), workloads, names, notes)
    return Problem(identifier(definition["name"], set()), text, inputs, outputs, list(names[axis] for axis in definition["axes"]), notes)


def python_section(reference, inputs):
    """The reference whole; and the function to call: `run`, or one that gives it numbers where it takes scalars."""
    lines = ["# The reference, as it was."] + reference.split("\n")
    function = "run"
    if any(each.scalar for each in inputs):
        taken = set(re.findall(r"\w+", reference)) | {each.name for each in inputs}
        function = identifier("run_with_numbers", taken)
        given = ", ".join(each.name + (".item()" if each.scalar else "") for each in inputs)
        lines += ["", f"def {function}({', '.join(each.name for each in inputs)}):", f"    return run({given})"]
    return "".join(("  " + line if line else "") + "\n" for line in lines), function


def workload_lines(sizes, workloads, names, notes):
    text, names_taken = "", set()
    for role, name, wanted in (("smallest", "one", [1]), ("smallest", "two", [2]), ("shape", "odd", [7, 3, 5]), ("shape", "tail", [33, 5, 2]),
                               ("emulator", "scaled", [16, 4, 8])):
        values = sizes.fill(wanted)
        if values is None or (name == "two" and "smallest" in text):
            continue
        text += f"  {role} {name}: {', '.join(f'{axis}={value}' for axis, value in values.items())}\n"
    files = 0
    for i, workload in enumerate(workloads[:MOST_REAL]):
        settings = [f"{names[axis]}={value}" for axis, value in workload["axes"].items() if axis in names and names[axis] in sizes.free]
        for name, spec in workload["inputs"].items():
            files += spec.get("type") == "safetensors"
            if spec.get("type") == "scalar" and name in names:
                settings.append(f"{names[name]} ~ constant({number(spec['value'])})")
        name = identifier(f"w{i + 1}", names_taken)
        text += f"  real {name}: {', '.join(settings)} \"{plain(workload.get('uuid'))}\"\n"
    if files:
        notes.append(f"{files} inputs of workloads are in files (safetensors): drawn here")
    if len(workloads) > MOST_REAL:
        notes.append(f"{len(workloads)} workloads, of which the problem has the first {MOST_REAL}")
    return text


def sections(text):
    """The text by section, without blank lines around and comments between."""
    found, name = {}, None
    for line in text.split("\n"):
        start = re.match(r"([a-z]+)[ :]", line)
        if start:
            name = start.group(1)
        if name:
            found.setdefault(name, []).append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def differing_section(text, definition_text):
    """The first section, among those that a definition decides, in which two problem files differ; None when none does."""
    here, there = sections(text), sections(definition_text)
    return next((name for name in SECTIONS if here.get(name) != there.get(name)), None)
